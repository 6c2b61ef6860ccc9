"""An invented raw tree of any size, for benchmarks: nothing in it comes from assay, so nothing is tested by itself."""
