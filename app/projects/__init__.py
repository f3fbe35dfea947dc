"""Projects: their question, rules, members and share links."""
