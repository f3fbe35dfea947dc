"""The questions that labelers are asked, and their answers.

- question: a triplet as one labeler sees it, its items in the order on the screen
- canonical: the one order of a triplet that is stored, with the answer mirrored to match
- queue: the triplets that wait to be asked, the highest priority first; a triplet outside of it has priority null
- lease: a triplet that one labeler holds until a time, so that others are not asked for the same answer
- open: a triplet is open to a labeler who may be asked it now: they have neither answered, skipped nor leased it,
  have flagged none of its items, and it still needs answers
- flag: a labeler says that an item is broken: no question about it is open to them any more
- head: the first part of a queue, most of which is on screens; busy queues are read from behind it
- redundancy: how many answers a triplet needs; answers that were withdrawn or set aside do not count
- extra answers: answers that a triplet needs beyond the redundancy, because a run doubts those that it has
- asked of: the one labeler whom a queued triplet is reserved for, until the next run
- refill: a run replaces the questions in the queue; demand: the questions that labelers need until the next run
- top-up: random triplets that are added behind all others when the queue is short; used up: when none can be added
- focus: what an analyst has restricted questions to: confused items, some clusters or some items
- source: where a triplet comes from: drawn at random, chosen by a run as informative, or sent by a client
- answer number: the place of an answer in its project, from 1 and without gaps; a run uses all answers up to a number
- set aside: an analyst's decision that runs do not use an answer; hold: the same, made automatically until an analyst
  decides; verdict: what a decision is
- set ahead: a random question for one labeler, outside of the queue, to be answered without a network
- practice: questions whose right answers are known, before a labeler's first answer; no answer of it is stored
- settled: of an item whose cluster a run that learned from answers is sure of
- progress: how many answers a labeler and everybody gave
"""
