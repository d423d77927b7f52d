"""Answers to single questions from a hidden model: uniformly stable, or differentially private."""
