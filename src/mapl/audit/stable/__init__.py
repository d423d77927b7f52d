"""The contract of stable queries, checked exactly, and broken twins."""
