"""Features that come by themselves: what programs measure, and learn, of recordings, pictures, texts and tables.

- recipe: which groups of features a project's items get, and how much each weighs
- group: columns that belong together, such as the measurements of a sound or the colours of a picture
- code: how much a patch of a spectrogram or of a picture is like a pattern that was learned from all of them
- pooled: summarised over the time of a recording or the parts of a picture
- fault: an item that could not be read, or holds nothing to measure; its features are those of the average item
- plug-in: a function of another package that turns items into rows of numbers
"""
