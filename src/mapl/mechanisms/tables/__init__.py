"""Tables and laws that mechanisms decide by, and what these cost exactly."""
