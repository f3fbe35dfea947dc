"""Signing in by an OpenID Connect provider: the authorization code flow with PKCE, state and nonce.

One secret in a cookie of the browser that began binds all three to it: each is a hash of the secret, so that neither
addresses nor the provider show what another browser would need, and nothing is stored here.
"""

import base64
import hashlib
import hmac
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.accounts import queries
from tercet.accounts.service import NAME_LENGTH, checked_email, make_user
from tercet.audit import chain
from tercet.errors import Invalid, Problem
from tercet.models import Invitation, User, now
from tercet.settings import Settings
from tercet.translatable import to_translate
from tercet.web.outgoing import trusted_authorities

SCOPE = "openid email profile"
# Signatures by keys that the provider publishes; one by the client's secret, or none, is refused.
ALGORITHMS = [f"{kind}{size}" for kind in ("RS", "PS", "ES") for size in (256, 384, 512)]
TIMEOUT_SECONDS = 10.0
FRESH_SECONDS = 3600.0  # how long what the provider says of itself is believed
LEEWAY_SECONDS = 60  # between its clock and ours
BASIC = "client_secret_basic"
# What comes of a provider that is away, or whose answers are not those of one.
UNUSABLE = (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError, AttributeError)


class SignInRefused(Problem):
    """Nobody was signed in; the sentence is for the person who tried."""

    status = 403


class ProviderAway(SignInRefused):
    """The provider did not answer, or said something else than OpenID Connect."""

    status = 502


@dataclass(frozen=True)
class SignInAttempt:
    """What belongs to one sign-in, from the secret that the browser keeps for its length."""

    secret: str

    def hashed(self, purpose: str) -> str:
        """Return the state, the nonce or the code verifier."""
        return hmac.new(self.secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


class Provider:
    """The provider of the settings."""

    def __init__(self, settings: Settings) -> None:
        """Remember the settings; nothing is asked yet."""
        self.issuer = settings.oidc_issuer.rstrip("/")
        self.name = settings.oidc_name
        self.client_id, self.client_secret = settings.oidc_client_id, settings.oidc_client_secret
        self.new_accounts = settings.oidc_new_accounts
        self._endpoints: dict[str, Any] = {}
        self._asked_at = 0.0

    async def sign_in_address(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Return the address at the provider where a browser is sent to sign in."""
        endpoint: str = (await self._discovered())["authorization_endpoint"]
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.hashed("verifier").encode()).digest())
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": redirect_uri,
            "scope": SCOPE,
            "state": attempt.hashed("state"),
            "nonce": attempt.hashed("nonce"),
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def claims_for(self, attempt: SignInAttempt, code: str, redirect_uri: str) -> dict[str, Any]:
        """Trade a code for what the provider says of the person, and check all of it."""
        endpoints = await self._discovered()
        try:
            token = await self._trade(attempt, code, redirect_uri)
            claims = self._checked(token["id_token"], await self._read(endpoints["jwks_uri"]), attempt)
            if "email" not in claims and "userinfo_endpoint" in endpoints:
                headers = {"Authorization": f"Bearer {token['access_token']}"}
                claims |= _of_same_person(claims, await self._read(endpoints["userinfo_endpoint"], headers))
        except UNUSABLE as error:
            raise self._away() from error
        return claims

    async def _trade(self, attempt: SignInAttempt, code: str, redirect_uri: str) -> dict[str, Any]:
        """Send the code to the provider, with the client's secret if it has one; return the tokens."""
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
        form |= {"client_id": self.client_id, "code_verifier": attempt.hashed("verifier")}
        methods = self._endpoints.get("token_endpoint_auth_methods_supported", [BASIC])
        auth = httpx.Auth()  # none
        if self.client_secret and BASIC in methods:
            auth = httpx.BasicAuth(quote(self.client_id, safe=""), quote(self.client_secret, safe=""))
        elif self.client_secret:
            form["client_secret"] = self.client_secret
        async with _client() as client:
            response = await client.post(self._endpoints["token_endpoint"], data=form, auth=auth)
        if response.status_code in (400, 401):
            raise SignInRefused(
                to_translate("%(provider)s did not confirm who you are. Sign in again.", provider=self.name)
            )
        return _json_of(response)

    def _checked(self, id_token: str, keys: dict[str, Any], attempt: SignInAttempt) -> dict[str, Any]:
        """Return the claims of an ID token; refuse it if it is not for this attempt, or not by this provider."""
        from joserfc import errors, jwk, jwt  # not loaded by servers without a provider

        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._endpoints["issuer"]},
            aud={"essential": True, "value": self.client_id},
            nonce={"essential": True, "value": attempt.hashed("nonce")},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
        )
        try:
            claims = jwt.decode(id_token, jwk.KeySet.import_key_set(keys), algorithms=ALGORITHMS).claims  # type: ignore[arg-type]
            registry.validate(claims)
            if claims.get("azp", self.client_id) != self.client_id:
                raise ValueError("the token is for another client")
        except (errors.JoseError, ValueError) as error:
            raise SignInRefused(
                to_translate("What %(provider)s said of you could not be verified. Sign in again.", provider=self.name)
            ) from error
        return dict(claims)

    async def _discovered(self) -> dict[str, Any]:
        """Return what the provider says of itself, asked at most once an hour."""
        if not self._endpoints or time.monotonic() > self._asked_at + FRESH_SECONDS:
            try:
                endpoints = await self._read(f"{self.issuer}/.well-known/openid-configuration")
                self._check_endpoints(endpoints)
            except UNUSABLE as error:
                raise self._away() from error
            self._endpoints, self._asked_at = endpoints, time.monotonic()
        return self._endpoints

    def _check_endpoints(self, endpoints: dict[str, Any]) -> None:
        """Raise ValueError if they are not those of the issuer, or less encrypted than it."""
        if endpoints["issuer"].rstrip("/") != self.issuer:
            raise ValueError(f"the issuer calls itself {endpoints['issuer']}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if urlsplit(endpoints[name]).scheme not in {"https", urlsplit(self.issuer).scheme}:
                raise ValueError(f"{name} is not encrypted")

    async def _read(self, address: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
        """Read JSON of the provider."""
        async with _client() as client:
            return _json_of(await client.get(address, headers=headers))

    def _away(self) -> ProviderAway:
        return ProviderAway(
            to_translate(
                "%(provider)s could not be reached, or did not answer as it should."
                " Try again in a moment, or sign in with a password or a sign-in link.",
                provider=self.name,
            )
        )


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(verify=trusted_authorities(), timeout=TIMEOUT_SECONDS, follow_redirects=False)


def _json_of(response: httpx.Response) -> dict[str, Any]:
    """Return the object in a response; raise ValueError for anything else, also for a redirect, wherever it leads."""
    if response.status_code != 200 or not isinstance(body := response.json(), dict):
        raise ValueError(f"{response.url} answered {response.status_code}")
    return body


def _of_same_person(claims: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    if more.get("sub") != claims["sub"]:
        raise ValueError("the provider spoke of two people")
    return more


def user_of(session: Session, claims: dict[str, Any], *, new_accounts: bool) -> User:
    """Return whose verified address the claims have; with `new_accounts`, or an invitation, they may be new here."""
    if not claims.get("email") or claims.get("email_verified") not in (True, "true"):
        raise SignInRefused(
            to_translate("The provider has not verified your address: it could be anybody's. Verify it there.")
        )
    try:
        email = checked_email(str(claims["email"]))
    except Invalid as problem:
        raise SignInRefused(problem.detail) from problem
    user = queries.user_by_email(session, email)
    if user is not None and user.disabled_at is not None:
        raise SignInRefused(to_translate("This account is disabled. Ask whoever runs this server."))
    if user is None:
        if not (new_accounts or _is_invited(session, email)):
            raise SignInRefused(
                to_translate(
                    "%(email)s has no account here. Ask the owner of a project for an invitation.", email=email
                )
            )
        user = make_user(session, _usable_name(claims) or email.partition("@")[0], email=email)
    chain.act_as(user)
    chain.record(session, "signed in", after={"by": "OpenID Connect"})
    return user


def _is_invited(session: Session, email: str) -> bool:
    waiting = select(Invitation.id).where(Invitation.email == email, Invitation.expires_at > now())
    return session.scalar(waiting.limit(1)) is not None


def _usable_name(claims: dict[str, Any]) -> str:
    """Return the name that the provider has of a person; empty if it cannot be one here."""
    name = str(claims.get("name", "")).strip()
    return name if len(name) <= NAME_LENGTH and name.isprintable() else ""
