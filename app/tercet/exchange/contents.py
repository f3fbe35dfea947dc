"""The names of what can be exported, in a module that imports nothing, so that the command line starts at once."""

from enum import StrEnum


class ExportContent(StrEnum):
    """What an export holds."""

    ANSWERS = "answers"
    CLUSTERS = "clusters"
    RAVEN = "raven"
    AUDACITY = "audacity"
    CLIPS = "clips"
    POSTERIOR = "posterior"
    FEATURES = "features"
    MODEL = "model"
    REPORT = "report"
    SALMON = "salmon"
    CBLEARN = "cblearn"


class MatrixFormat(StrEnum):
    """How a matrix with a row for each item is written."""

    NPZ = "npz"
    CSV = "csv"
