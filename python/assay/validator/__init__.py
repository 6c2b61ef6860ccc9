"""The rules of the two subnets' validators, restated as pure functions on strings and plain values.

One module is one family of rules. Where a rule changed over time, its version is an explicit parameter; a
limit is always an argument. Nothing here reads a file, runs a command or needs more than the standard
library, and every function takes time in proportion to its input, whatever the text holds.
"""
