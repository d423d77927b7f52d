"""The server: private answers online, with a budget that survives anything."""
