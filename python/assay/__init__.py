"""assay: a SQL warehouse that weighs evidence about agents."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("assay")
except PackageNotFoundError:  # the package is on the path without having been installed
    __version__ = "0+unknown"
