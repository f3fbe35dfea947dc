"""Spectral clustering with labels of bags: clusters before anybody has answered a question.

- bag: a group that items come in (a recording, an image); bag labels: what is said of it as a whole
- `graph`: W, the affinities of items; sigma: bandwidth of an item
- `constraints`: Q, the reward of pairs whose bags share labels; must-link, cannot-link: pairs whose bags decide
- `methods`: how each method combines W and the constraints into one symmetric matrix, the similarity
- `spectrum`: its eigenvectors; embedding: their rows at length 1
- `search`: the starts of k-means in the embedding, one step each
"""
