"""Clusters on which parts of a run are computed: a small protocol, and one file for each engine.

Nothing here knows what is computed. Rows are read by whoever computes, from files of the run's scratch folder; what
comes back are votes, counts and sums. Noise, the ledger and everything that is released stay with the driver.
"""
