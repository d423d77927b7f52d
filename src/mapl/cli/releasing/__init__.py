"""Verbs that release single things: labels from votes, answers to questions."""
