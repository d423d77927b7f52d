"""Several taught runs behind one server."""
