"""From a request to a reply: the only routes that spend, and the free ones."""
