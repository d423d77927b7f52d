"""One budget for several mechanisms, and for several runs on the same people."""
