"""Sessions of browsers: begun at sign-in with a new token, listed for their user, and ended on the server.

A cookie that was copied is worth nothing once its session has ended.
"""

from datetime import datetime
from typing import Literal

from fastapi import Request, Response
from sqlalchemy import delete
from sqlalchemy.orm import Session

from tercet.accounts.access import SESSION_COOKIE, Caller, hash_token, user_of_session
from tercet.accounts.dependencies import caller_of
from tercet.accounts.service import make_secret
from tercet.accounts.usage import IDLE, LONGEST
from tercet.audit import chain
from tercet.database import Database
from tercet.errors import NotFound
from tercet.models import BrowserSession, User, now
from tercet.web.rendering import site_address

# By it a browser in which somebody came by a labeling link is known again; sent to the pages of such links alone.
BROWSER_COOKIE = "tercet-browser"
# The secret of a sign-in at a provider, for as long as that may take.
ATTEMPT_COOKIE, ATTEMPT_SECONDS = "tercet-attempt", 900
# Words in a browser's User-Agent header, the most specific first: most browsers name Safari as well.
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}
YEAR_SECONDS = 365 * 24 * 3600


def start(session: Session, request: Request, user: User, until: datetime | None = None) -> str:
    """Begin a session of the user in the browser that asks, in place of the one it had; return its token.

    It ends at `until` at the latest.
    """
    if earlier := caller_of(request).session:
        session.execute(delete(BrowserSession).where(BrowserSession.token_hash == earlier))
    _delete_ended(session)
    token = make_secret()
    browser = browser_name(request.headers.get("user-agent", ""))
    address = request.client.host[:45] if request.client else ""
    row = BrowserSession(user_id=user.id, token_hash=hash_token(token), browser=browser, address=address)
    row.until = until
    row.expires_at = min(now() + IDLE, until or now() + IDLE)
    session.add(row)
    session.flush()
    return token


def forget_ended(database: Database) -> None:
    """Delete the sessions that are over, with the browser and the address that each was of."""
    with database.transaction() as session:
        _delete_ended(session)


def _delete_ended(session: Session) -> None:
    session.execute(delete(BrowserSession).where(BrowserSession.expires_at <= now()))


def browser_name(user_agent: str) -> str:
    """Return a browser and its system in words, such as "Firefox on Windows"; what it calls itself if it is neither."""
    browser = next((name for sign, name in BROWSERS.items() if sign in user_agent), user_agent[:60])
    system = next((name for sign, name in SYSTEMS.items() if sign in user_agent), "")
    return f"{browser} on {system}" if browser and system else browser


def end(session: Session, user: User, session_id: int) -> None:
    """End one of the user's sessions."""
    this = (BrowserSession.id == session_id, BrowserSession.user_id == user.id)
    if session.scalar(delete(BrowserSession).where(*this).returning(BrowserSession.id)) is None:
        raise NotFound(f"You have no session {session_id}.")
    chain.record(session, "session ended", before={"session": session_id})


def end_all(session: Session, user_id: int) -> None:
    """Sign a user out everywhere."""
    session.execute(delete(BrowserSession).where(BrowserSession.user_id == user_id))
    chain.record(session, "signed out everywhere")


def end_current(session: Session, caller: Caller) -> None:
    """End the session of the browser that asks, if it has one."""
    if (user := user_of_session(session, caller)) is not None:
        session.execute(delete(BrowserSession).where(BrowserSession.token_hash == caller.session))
        chain.record(session, "signed out", by=user)


def set_cookie(request: Request, response: Response, token: str, *, framed: bool = False) -> None:
    """Have the browser keep the token of its session; in a frame of another site, for the frames of that site alone."""
    _set(request, response, SESSION_COOKIE, token, int(LONGEST.total_seconds()), "/", framed=framed)


def is_framed_elsewhere(request: Request) -> bool:
    """Return whether a page is opened in a frame of another site, where browsers keep no cookies of the usual kind."""
    headers, settings = request.headers, request.app.state.settings
    in_frame = (headers.get("sec-fetch-dest"), headers.get("sec-fetch-site")) == ("iframe", "cross-site")
    return in_frame and bool(settings.frame_origins)


def browser_secret(request: Request) -> str:
    """Return the secret of the browser that asks, or a new one to be set by `set_browser_cookie`."""
    return request.cookies.get(BROWSER_COOKIE) or make_secret()


def set_browser_cookie(request: Request, response: Response, secret: str) -> None:
    """Have the browser keep the secret by which labeling links know it again."""
    _set(request, response, BROWSER_COOKIE, secret, YEAR_SECONDS, "/join")


def attempt_secret(request: Request) -> str:
    """Return the secret of the sign-in at a provider that was begun in this browser; empty if none was."""
    return request.cookies.get(ATTEMPT_COOKIE, "")


def set_attempt_cookie(request: Request, response: Response, secret: str) -> None:
    """Have the browser keep the secret of a sign-in at a provider."""
    _set(request, response, ATTEMPT_COOKIE, secret, ATTEMPT_SECONDS, "/sign-in")


def forget_attempt(response: Response) -> None:
    """Have the browser forget the sign-in at a provider: it has ended."""
    response.delete_cookie(ATTEMPT_COOKIE, "/sign-in")


def forget(response: Response) -> None:
    """Have the browser forget its session, and who came by labeling links in it."""
    response.delete_cookie(SESSION_COOKIE, "/")
    forget_visits(response)


def forget_visits(response: Response) -> None:
    """Have the browser forget who came by labeling links in it."""
    response.delete_cookie(BROWSER_COOKIE, "/join")


def _set(
    request: Request, response: Response, name: str, value: str, seconds: int, path: str, *, framed: bool = False
) -> None:
    secure = framed or request.url.scheme == "https" or site_address(request).startswith("https:")
    samesite: Literal["none", "lax"] = "none" if framed else "lax"
    response.set_cookie(name, value, max_age=seconds, path=path, secure=secure, httponly=True, samesite=samesite)
    if framed:  # Python writes this attribute from 3.14 on
        key, header = response.raw_headers.pop()
        response.raw_headers.append((key, header + b"; Partitioned"))
