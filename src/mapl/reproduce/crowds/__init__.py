"""Teachers of known worlds, what they vote, and runs of real mechanisms on their votes."""
