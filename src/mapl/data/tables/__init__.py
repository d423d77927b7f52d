"""Tables, their schema, and how every cell is read."""
