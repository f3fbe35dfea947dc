"""The answers before an analyst's eyes.

- listing: a page of answers, newest first or by suspicion
- doubt: what the last run says of an answer: its probability, and its rank among the suspect ones
- votes: all answers that count to one question
- decision: an analyst sets answers aside or puts them back; logged, and never changed
- set aside: of an answer that stays its labeler's, but that runs do not use
- habits: what a labeler's newest answers say of them: speed, shares of the values, agreement with others
"""
