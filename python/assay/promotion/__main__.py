"""Runs the sampling step with one thread a process: the pool has the cores, and one thread gives the same last bits."""

import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from assay.promotion.step import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
