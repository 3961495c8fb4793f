"""Measure mere against its peers, on one machine and in one run."""
