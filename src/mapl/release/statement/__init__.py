"""What is promised to whom, and the statement that a user may print."""
