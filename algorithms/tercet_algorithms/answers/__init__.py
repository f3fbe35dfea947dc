"""What is said about items: patterns, answers and bag labels, metrics, simulated labelers, questions.

- triplet: positions (anchor, left, right) of three items; question: a triplet and a kind, "relative" or "outlier"
- pattern: which of the three items are in one cluster; there are five
- table: P(answer | pattern), (5, A); answers are its columns
- constraints: checked answers, left < right, identical rows of one labeler merged
- link: a pair of items in one cluster (must-link) or not (cannot-link)
- bag: a group that items come in, with labels
- exemplar: an item that stands for a cluster in questions
- pool: the questions among which a policy chooses; asked: of a triplet that was put to somebody
- expected information: mutual information of an answer and the pattern, in nats
"""
