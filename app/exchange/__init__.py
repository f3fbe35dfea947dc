"""Constraints in bulk, in and out, streamed."""
