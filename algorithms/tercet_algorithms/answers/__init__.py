"""Answers and questions about items: patterns, reading, bag labels, metrics, simulated labelers, suggestions.

- triplet: positions (anchor, left, right) of three items; question: a triplet and a kind, "relative" or "outlier"
- pattern: which of the three items are in one cluster; there are five
- table: P(answer | pattern), (5, A); an answer is stored as its column
- constraints: checked answers, left < right, identical rows of one labeler merged
- link: a pair of items in one cluster (must-link) or in two (cannot-link)
- bag: a group of items, such as the sounds of one recording, with labels for the whole group
- clear case: a question where one of the items is the right answer; unclear: where "don't know" is right
- exemplar: an item that stands for a cluster in questions
- pool: the questions that a policy chooses from; asked: triplets that were shown to a labeler before
- about: the item that a question is about, the first of its triplet
- foreseen: P(answer) under a fit that had not used the answer
- expected information: mutual information of an answer and the pattern, in nats
"""
