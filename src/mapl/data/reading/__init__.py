"""From files and storage of any kind to one canonical form, cell by cell."""
