"""Students for other worlds: as ONNX, for scikit-learn alone, and as plain numbers in JSON."""
