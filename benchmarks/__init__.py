"""The promised ratios, measured: each pair of commands in one run, in turn, on one machine."""
