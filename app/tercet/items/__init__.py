"""Items as they are stored: how they are read, shown and served.

- item: one thing to be clustered; its key is given by the user, its position is its row in the features
- media: the file that was given, the picture and the thumbnail that pages show
- features: an array with one row per item; each upload is a version, and runs use the latest
"""
