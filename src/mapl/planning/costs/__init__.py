"""What a run takes, in seconds and bytes, on each engine: a model whose rates a short calibration finds."""
