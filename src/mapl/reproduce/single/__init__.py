"""Answers to single questions in worlds in which every error is a formula."""
