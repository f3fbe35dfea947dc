"""The database tables, in files by domain.

- role, scope: what a member and an API token may do
- canonical triplet: a triplet whose items stand in a fixed order, so that a question asked both ways is one row
- counter: a number in the project's row, incremented in the transaction that adds the row that it numbers
"""

from tercet.models.accounts import ApiToken, BrowserSession, Scope, SignInLink, User
from tercet.models.audit import AuditEntry
from tercet.models.base import Base, now, out_of_reach
from tercet.models.edits import MOVING, Edit, EditKind, Link
from tercet.models.items import Bag, FeatureSet, Item, Tag
from tercet.models.jobs import BackgroundJob, Import, ImportFile, ImportSource, ImportStatus, JobKind, JobStatus
from tercet.models.labeling import Answer, Decision, Flag, FlagReason, Lease, Skip, Source, Triplet, Verdict
from tercet.models.projects import Invitation, Membership, Project, ProjectView, QuestionKind, Role, ShareLink
from tercet.models.runs import WAITING_FOR_ANSWERS, ClusterNote, Event, Purpose, Run, RunStatus
from tercet.models.suggestions import Dismissal, SuggestionKind
from tercet.models.webhooks import Delivery, DeliveryStatus, Occasion, Webhook

__all__ = [
    "MOVING",
    "WAITING_FOR_ANSWERS",
    "Answer",
    "ApiToken",
    "AuditEntry",
    "BackgroundJob",
    "Bag",
    "Base",
    "BrowserSession",
    "ClusterNote",
    "Decision",
    "Delivery",
    "DeliveryStatus",
    "Dismissal",
    "Edit",
    "EditKind",
    "Event",
    "FeatureSet",
    "Flag",
    "FlagReason",
    "Import",
    "ImportFile",
    "ImportSource",
    "ImportStatus",
    "Invitation",
    "Item",
    "JobKind",
    "JobStatus",
    "Lease",
    "Link",
    "Membership",
    "Occasion",
    "Project",
    "ProjectView",
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
    "SuggestionKind",
    "Tag",
    "Triplet",
    "User",
    "Verdict",
    "Webhook",
    "now",
    "out_of_reach",
]
