"""How options are spelled in messages, grouped in the help and read from files."""
