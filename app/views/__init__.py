"""Views: other clusterings that stand beside the current one, and how two groupings of the same items relate."""
