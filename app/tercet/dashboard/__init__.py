"""The analyst's view of a project: answers, people, runs and clusters, as a page and as JSON.

- summary: everything the dashboard says in numbers.
- labeler: a person who has answered, with figures about their answers.
- tally: the answers of each labeler up to an answer number, remembered between requests.
- prediction: the share of new answers that the run before them predicted (prequential accuracy).
- map items: the items at given rows of a run's map.
"""
