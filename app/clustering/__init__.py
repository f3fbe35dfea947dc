"""Runs: when they start, where they run, what they leave behind."""
