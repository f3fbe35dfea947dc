"""What to ask next, leases, answers, undo, skips, progress."""
