"""What columns seem to be, judged on public rows alone."""
