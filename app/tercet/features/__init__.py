"""Features that are computed from items: from recordings, pictures, texts and columns of a table.

- recipe: which groups of features a project's items get, and how much each weighs
- group: columns that belong together, such as the measurements of a sound or the colours of a picture
- numbers: how many columns a group is reduced to; 0 for all that it has
- patch: a small part of a spectrogram or of a picture; code: how similar the patches of an item are to a pattern that
  was learned from patches of all items
- pooled: summarised over the time of a recording or the parts of a picture
- outline: the mel spectrogram of a sound's audible part, stretched to one size
- fault: an item that could not be read, or has nothing to measure; it gets the features of the average item
- plug-in: a function of another package that turns items into rows of numbers
"""
