"""Private tables, public rows, what both declare, and which teacher sees whom."""
