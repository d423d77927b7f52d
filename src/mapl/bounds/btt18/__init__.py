"""Bassily, Thakkar and Thakurta (2018), theorem by theorem."""
