"""The record of a step of any machine, and the steps of workstreams."""
