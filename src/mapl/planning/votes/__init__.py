"""What votes are expected to look like: declared, modelled or measured on public rows."""
