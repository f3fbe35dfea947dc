"""The demonstration: bird songs made by code, so that a first look needs no data and no network.

- pattern: a kind of syllable; the truth that clusters are judged by
- syllable: one recorded rendition of a pattern by one bird
- crowd: simulated labelers who answer over HTTP with the mistakes of people
- watcher: follows the runs over REST, as an analyst's program does
"""
