"""What is stored about one labeler of a project: taken out as a file, or erased, by an owner or by itself in time.

- erase: take everything away by which somebody can be known. Their answers stay under a *pseudonym*, a user whom nobody
  can sign in as, or are removed with them.
- retention: after how many days without an answer a labeler without an account is erased, answers kept.
"""
