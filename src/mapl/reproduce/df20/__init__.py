"""Dagan and Feldman (2020): PAC learning with stable and private predictions."""
