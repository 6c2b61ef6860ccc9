"""Landing: raw files in, typed parquet files out, every line accounted for.

A file is read once, front to back, in bounded memory. A line that can be read becomes one row of its kind's primary
table (and rows of the tables below it); a line that cannot becomes one row of the quarantine with its reason.
"""
