"""One private label at a time, each at a pure epsilon."""
