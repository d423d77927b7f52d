"""What is tried on public rows before anything is spent."""
