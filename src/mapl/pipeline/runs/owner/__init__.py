"""What only the owner of a table is told: how its cells and labels were read."""
