"""Mechanisms that release many labels from votes, with or without abstentions."""
