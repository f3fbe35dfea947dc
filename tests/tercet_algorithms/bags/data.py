"""Small data in bags for the tests of bag constraints, and the paper's matrices written out entry by entry."""

import numpy as np

from tercet_algorithms.answers.bag_labels import read_bags


def bagged(n_bags=40, size=6, n_classes=4, n_features=6, spread=0.9, seed=0):
    """Features, classes, bag of every item, and the table of the bags' labels: those of their items."""
    rng = np.random.default_rng(seed)
    centres = 1.6 * rng.normal(size=(n_classes, n_features))
    few = [rng.choice(n_classes, size=rng.integers(1, 4), replace=False) for _ in range(n_bags)]
    y = np.concatenate([rng.choice(classes, size=size) for classes in few])
    bags = np.repeat(np.arange(n_bags), size)
    labels = np.zeros((n_bags, n_classes), dtype=int)
    labels[bags, y] = 1
    order = rng.permutation(len(y))
    return (centres[y] + spread * rng.normal(size=(len(y), n_features)))[order], y[order], bags[order], labels


def random_bags(seed, n_bags=7, n_items=25, n_classes=4, unlabelled=1):
    """Checked bags without features; the last bags are unlabelled, one item is in no bag."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((n_bags, n_classes)) < 0.4).astype(int)
    labels[:2] = np.eye(n_classes, dtype=int)[0]  # two single-label bags of one label
    labels[n_bags - unlabelled :] = 0
    bags = [*range(n_bags), *rng.integers(n_bags, size=n_items - n_bags - 1).tolist(), None]
    return read_bags(bags, labels, n_items=n_items)


def dense_parts(bags):
    """B (N, M), Y (C, M) and the number of labels (M,) of the paper as plain arrays."""
    table = bags.labels.toarray()
    counts = table.sum(axis=1)
    B = np.zeros((len(bags.bag_of_item), len(table)))
    for item, bag in enumerate(bags.bag_of_item):
        if bag >= 0:
            B[item, bag] = 1
    Y = np.array([row / count if count else row for row, count in zip(table, counts, strict=True)]).T
    return B, Y, counts


def links(bags):
    """Must-linked and cannot-linked pairs (N, N) by the words of the paper's section 4.3."""
    table, of_item = bags.labels.toarray(), bags.bag_of_item
    n = len(of_item)
    must, cannot = np.zeros((n, n), dtype=bool), np.zeros((n, n), dtype=bool)
    for p in range(n):
        for q in range(n):
            if of_item[p] < 0 or of_item[q] < 0:
                continue
            labels_p, labels_q = (set(np.flatnonzero(table[of_item[i]])) for i in (p, q))
            must[p, q] = len(labels_p) == 1 and labels_p == labels_q
            cannot[p, q] = bool(labels_p and labels_q and not labels_p & labels_q)
    return must, cannot


def affinity(seed, n=25):
    """A symmetric matrix of numbers from 0 to 1 with ones on its diagonal."""
    W = np.random.default_rng(seed).random((n, n))
    W = (W + W.T) / 2
    np.fill_diagonal(W, 1)
    return W
