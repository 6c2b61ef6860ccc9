"""assay: a SQL warehouse that weighs evidence about agents."""

__version__ = "0.1.0"
