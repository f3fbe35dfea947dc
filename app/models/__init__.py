"""Every table, one file per aggregate, under one roof."""

from app.models.accounts import ApiToken, Scope, SignInLink, User
from app.models.base import Base, now
from app.models.clustering import WAITING_FOR_ANSWERS, ClusterNote, Event, Purpose, Run, RunStatus
from app.models.items import Bag, FeatureSet, Item
from app.models.labeling import Answer, Decision, Lease, Skip, Source, Triplet, Verdict
from app.models.projects import Membership, Project, QuestionKind, Role, ShareLink

__all__ = [
    "WAITING_FOR_ANSWERS",
    "Answer",
    "ApiToken",
    "Bag",
    "Base",
    "ClusterNote",
    "Decision",
    "Event",
    "FeatureSet",
    "Item",
    "Lease",
    "Membership",
    "Project",
    "Purpose",
    "QuestionKind",
    "Role",
    "Run",
    "RunStatus",
    "Scope",
    "ShareLink",
    "SignInLink",
    "Skip",
    "Source",
    "Triplet",
    "User",
    "Verdict",
    "now",
]
