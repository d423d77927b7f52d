"""Teachers that are kept, and the run that answers questions with them."""
