"""The project under test and how a test runs dbt on it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]

RunDbt = Callable[..., subprocess.CompletedProcess[str]]
