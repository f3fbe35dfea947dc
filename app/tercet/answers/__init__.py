"""The answers page of an analyst: list answers, judge labelers, set answers aside.

- listing: a page of answers, newest first or by suspicion
- doubt: what the last run says about an answer: its probability, and its rank among the suspect ones
- votes: all answers that count to one question
- decision: an analyst sets answers aside or puts them back; logged, and never changed
- set aside: an answer that is kept but not used by runs
- flagged: items that labelers say are broken, until an analyst sets them aside or says that they are fine
- habits: statistics of a labeler's newest answers: speed, shares of the values, agreement with others
"""
