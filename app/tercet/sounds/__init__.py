"""Decodes recordings, cuts them into segments, draws and measures them, and converts them for playing; independent of
projects.

- sound: the samples of a recording, mixed to one channel, and their rate
- frame: one sample of every channel; block: some hundred thousand frames, as much as is decoded at once
- selection: a stretch of a recording that somebody marked, from a begin to an end in seconds, with a frequency range
  and a label where it has them
- selection table: a file of selections, as Raven, Audacity, BirdNET-Analyzer, Kaleidoscope and Praat write them
- segment: a selection that a program proposes, where there is energy above the noise
- picture settings: what all pictures of a project share, so that they can be compared by eye
- sounding part: the stretch of a clip between its first and its last sound above the noise
"""
