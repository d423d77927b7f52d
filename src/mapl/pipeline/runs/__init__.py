"""Runs as folders on disk: read, resumed, published."""
