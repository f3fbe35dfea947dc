"""Questions put to labelers, and their answers.

- question: a triplet as it is put to one labeler, its items in the order on the screen
- canonical: the one of a triplet's equal orders that is stored, its answer turned round to match
- queue: the triplets that wait to be asked, the highest priority first; out of it the priority is null
- lease: a triplet that one labeler holds until a time, so that others are not asked for the same answer
- open: of a triplet that a labeler may be asked now: neither answered, skipped nor held by them, and short of answers
- redundancy: how many answers a triplet needs; withdrawn ones and those set aside do not count
- extra answers: those that a triplet needs beyond that, because a run doubts the answers that it has
- asked of: the one labeler whom a queued triplet waits for, until the next run decides anew
- refill: what a run does to the queue; demand: the questions that labelers need until the next run
- top-up: random triplets that are added behind all others when the queue is short
- focus: what an analyst has narrowed questions to: what is confused, some clusters or some items
- source: why a triplet is in the queue: drawn at random, chosen by a run for what it tells, or named by a client
- answer number: the place of an answer in its project, from 1 and without gaps; a run uses answers up to one
- progress: how many answers a labeler and everybody gave
"""
