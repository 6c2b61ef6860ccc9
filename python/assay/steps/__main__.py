"""`python -m assay.steps`: the other side of `process.apart`."""

import sys

from assay.steps.process import main

if __name__ == "__main__":
    sys.exit(main())
