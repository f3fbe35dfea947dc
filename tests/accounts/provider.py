"""An OpenID Connect provider with one person, who is always signed in there; tests change what it says and how."""

import base64
import hashlib
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import FastAPI, Form, Header, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response
from joserfc import jwt
from joserfc.jwk import RSAKey

from tests.web.proxies import served

CLIENT_ID, CLIENT_SECRET = "tercet", "a secret: with/odd characters"
KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})
FOREIGN_KEY = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})


class TestProvider:
    """What the provider says; every change is for one test."""

    __test__ = False

    def __init__(self) -> None:
        """Begin with somebody whose address is verified."""
        self.url = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.requests: list[str] = []
        self.reset()

    def reset(self) -> None:
        """Say what is right again."""
        self.claims: dict[str, Any] = {"email": "Ada@example.org", "email_verified": True, "name": "Ada L."}
        self.userinfo: dict[str, Any] = {}
        self.key, self.algorithm = KEY, "RS256"
        self.token_answer: Response | None = None
        self.methods = ["client_secret_basic"]

    def id_token(self, nonce: str) -> str:
        """Sign what is to be said of the person."""
        at = int(time.time())
        claims = {"iss": self.url, "sub": "ada-1", "aud": CLIENT_ID, "iat": at, "exp": at + 300, "nonce": nonce}
        header = {"alg": self.algorithm, "kid": "1"}
        return jwt.encode(header, claims | self.claims, self.key, algorithms=[self.algorithm])


def make_app(provider: TestProvider) -> FastAPI:
    """Return the provider's pages."""
    app = FastAPI()

    @app.middleware("http")
    async def note(request: Request, call_next: Any) -> Response:
        provider.requests.append(request.url.path)
        response: Response = await call_next(request)
        return response

    @app.get("/.well-known/openid-configuration")
    def configuration() -> dict[str, Any]:
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        if provider.userinfo:
            places["userinfo_endpoint"] = "userinfo"
        addresses = {name: f"{provider.url}/{path}" for name, path in places.items()}
        return {"issuer": provider.url, "token_endpoint_auth_methods_supported": provider.methods, **addresses}

    @app.get("/authorize")
    def authorize(request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["client_id"], query["response_type"]) == (CLIENT_ID, "code")
        assert (query["code_challenge_method"], query["scope"].split()[0]) == ("S256", "openid")
        code = uuid.uuid4().hex
        provider.codes[code] = query
        return RedirectResponse(f"{query['redirect_uri']}?code={code}&state={query['state']}", 302)

    @app.post("/token")
    def token(
        code: Annotated[str, Form()],
        redirect_uri: Annotated[str, Form()],
        code_verifier: Annotated[str, Form()],
        client_secret: Annotated[str, Form()] = "",
        authorization: Annotated[str, Header()] = "",
    ) -> Response:
        if provider.token_answer is not None:
            return provider.token_answer
        begun = provider.codes.pop(code, None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(code_verifier.encode()).digest()).decode().rstrip("=")
        basic = base64.b64encode(f"{CLIENT_ID}:a%20secret%3A%20with%2Fodd%20characters".encode()).decode()
        is_client = (
            authorization == f"Basic {basic}" if "basic" in provider.methods[0] else client_secret == CLIENT_SECRET
        )
        if (
            begun is None
            or not is_client
            or (begun["code_challenge"], begun["redirect_uri"]) != (challenge, redirect_uri)
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {"access_token": "access", "token_type": "Bearer", "id_token": provider.id_token(begun["nonce"])}
        )

    @app.get("/keys")
    def keys() -> dict[str, Any]:
        return {"keys": [KEY.as_dict(private=False)]}

    @app.get("/userinfo")
    def userinfo(authorization: Annotated[str, Header()]) -> dict[str, Any]:
        assert authorization == "Bearer access"
        return provider.userinfo

    return app


@contextmanager
def running_provider() -> Iterator[TestProvider]:
    """Serve a provider for the length of the block."""
    provider = TestProvider()
    with served(make_app(provider)) as provider.url:
        yield provider
