"""Who may come in: one-time links, share links, API tokens, sessions, and the one permission function."""
