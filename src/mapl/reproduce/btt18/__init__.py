"""Bassily, Thakkar and Thakurta (2018): Model-Agnostic Private Learning."""
