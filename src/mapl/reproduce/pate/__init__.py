"""Papernot and others (2017, 2018): private aggregation of teacher ensembles, on the votes that were published."""
