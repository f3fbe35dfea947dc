"""The demonstration: synthetic bird songs, digits or texts, so that a first look needs no data and no network.

- pattern: a kind of syllable; the true class that clusters are evaluated against
- syllable: one recorded rendition of a pattern by one bird
- crowd: simulated labelers who answer over HTTP with the mistakes of people
- watcher: follows the runs over REST, as a program of an analyst would
"""
