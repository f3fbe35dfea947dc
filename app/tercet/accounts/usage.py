"""When API tokens and sessions were last used, written at most every five minutes each and never before the answer."""

import time
from datetime import timedelta

from sqlalchemy import or_, select, update

from tercet.database import Database
from tercet.models import ApiToken, BrowserSession, now

EVERY_SECONDS = 300.0
# A session ends after so many days without use, and after so many days at the latest.
IDLE = timedelta(days=7)
LONGEST = timedelta(days=30)


class Uses:
    """Remembers which tokens and sessions were noted recently, so that most requests cost one dictionary look-up."""

    def __init__(self, database: Database) -> None:
        """Start with nothing noted."""
        self.database = database
        self._noted: dict[str, float] = {}

    def is_due(self, token_hash: str) -> bool:
        """Return whether the token, or session, was not noted by this process within the last five minutes."""
        return time.monotonic() - self._noted.get(token_hash, -EVERY_SECONDS) >= EVERY_SECONDS

    def note_token(self, token_hash: str) -> None:
        """Store that the token is used now, unless another process just did; ignore unknown tokens."""
        moment = now()
        stale = or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at < moment - timedelta(seconds=EVERY_SECONDS))
        this = ApiToken.token_hash == token_hash
        # Read first: a wrong token sent again and again must not lock the database for writing.
        with self.database.reading() as session:
            row = session.execute(select(ApiToken.id, stale).where(this, ApiToken.revoked_at.is_(None))).first()
        if row is None:
            return
        self._noted[token_hash] = time.monotonic()
        if row[1]:
            with self.database.transaction() as session:
                session.execute(update(ApiToken).where(this, stale).values(last_used_at=moment))

    def note_session(self, token_hash: str) -> None:
        """Store that the session is used now, so that it ends later; ignore unknown sessions."""
        moment, this = now(), BrowserSession.token_hash == token_hash
        with self.database.reading() as session:
            row = session.execute(
                select(BrowserSession.created_at, BrowserSession.seen_at, BrowserSession.until).where(this)
            ).first()
        if row is None:
            return
        self._noted[token_hash] = time.monotonic()
        if row.seen_at < moment - timedelta(seconds=EVERY_SECONDS):
            expires_at = min(row.created_at + LONGEST, moment + IDLE, row.until or moment + IDLE)
            with self.database.transaction() as session:
                session.execute(update(BrowserSession).where(this).values(seen_at=moment, expires_at=expires_at))
