"""Conformance: published vectors against the rules that a build runs, in Python or in the project's own SQL."""
