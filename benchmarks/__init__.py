"""The promised ratios, measured: both commands of a pair in one run, in turn, on one machine."""
