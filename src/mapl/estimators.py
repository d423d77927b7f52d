"""The scikit-learn face: PrivateClassifier and PrivateOracle."""
