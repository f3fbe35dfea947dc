"""The answers themselves, before an analyst's eyes: who gave which, which the last run doubts, what to set aside."""
