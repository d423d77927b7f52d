"""Attacks on a finished set-up, rehearsed on made-up people."""
