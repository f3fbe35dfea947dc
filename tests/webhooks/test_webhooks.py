"""Webhooks: who is told what, to where, signed how, how often, and what is left when nobody listens."""

import asyncio
import hashlib
import hmac
import json
import ssl
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.models import AuditEntry, Delivery, Project, Purpose, Role, Webhook, now
from tercet.runs import lifecycle
from tercet.runs.lifecycle import RunStatus
from tercet.runs.schedule import request_side_run
from tercet.settings import Settings
from tercet.web.outgoing import trusted_authorities
from tercet.webhooks import courier, service
from tercet.webhooks.addresses import fault_of_url, is_public
from tercet.webhooks.courier import Courier
from tests.factories import add_member, make_project, make_token
from tests.loops import run

ONE = "/api/v1/projects/songs/webhooks"


class Receiver(HTTPServer):
    """A program that is told: it keeps what it gets, and answers with the statuses of a list, then with 204."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.messages: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_port}/told"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.messages.append((dict(self.headers), body))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhooks_to_private": True})


@pytest.fixture
def owner(app: FastAPI, database: Database) -> Iterator[TestClient]:
    with database.transaction() as session:
        token = make_token(session, add_member(session, make_project(session, n_items=4), Role.OWNER))
    with TestClient(app, headers={"Authorization": f"Bearer {token}"}) as client:
        yield client


def look(database: Database, *, private_too: bool = True) -> None:
    """Do what the courier does once a second."""
    run(Courier(database, private_too=private_too).look())


def make(owner: TestClient, receiver: Receiver, **what: object) -> dict[str, object]:
    made = owner.post(ONE, json={"url": receiver.url, **what})
    assert made.status_code == 201, made.text
    return dict(made.json())


def end_a_run(database: Database, status: RunStatus) -> None:
    with database.transaction() as session:
        project = session.scalars(sa.select(Project)).one()
        started = request_side_run(session, project, Purpose.ALTERNATIVE, "dcrc", {})
        lifecycle.end(session, started, status)


def deliveries(owner: TestClient, webhook: dict[str, object], **query: object) -> list[dict[str, object]]:
    return list(owner.get(f"{ONE}/{webhook['id']}/deliveries", params=query).json()["deliveries"])


def retry_now(database: Database) -> None:
    with database.transaction() as session:
        session.execute(sa.update(Delivery).where(Delivery.next_at.is_not(None)).values(next_at=now()))


def test_a_receiver_is_told_of_runs_and_answers_by_signed_messages(
    owner: TestClient, database: Database, receiver: Receiver
) -> None:
    end_a_run(database, RunStatus.FAILED)  # before there was a webhook
    webhook = make(owner, receiver, runs=True, every_answers=10)
    end_a_run(database, RunStatus.CANCELLED)
    end_a_run(database, RunStatus.DONE)
    with database.transaction() as session:
        session.execute(sa.update(Project).values(answer_number=27))
    look(database)
    look(database)
    bodies = [json.loads(body) for _, body in receiver.messages]
    assert sorted(body["occasion"] for body in bodies) == ["answers", "run"]
    told = {body["occasion"]: body for body in bodies}
    assert {name: told["run"][name] for name in ("project", "run", "status")} == {
        "project": "songs",
        "run": 3,
        "status": "done",
    }
    assert told["answers"]["answers"] == 27
    headers, body = receiver.messages[0]
    time, digest = (part.split("=", 1)[1] for part in headers["Tercet-Signature"].split(","))
    signed = hmac.new(str(webhook["secret"]).encode(), f"{time}.".encode() + body, hashlib.sha256)
    assert digest == signed.hexdigest()
    assert headers["Host"] == receiver.url.split("/")[2]
    [first, second] = deliveries(owner, webhook)
    assert (first["status"], first["attempts"], first["result"]) == ("delivered", 1, "The receiver answered 204.")
    assert deliveries(owner, webhook, before=first["id"], limit=1) == [second]
    with database.transaction() as session:
        session.execute(sa.update(Project).values(answer_number=29))
    look(database)
    assert len(receiver.messages) == 2, "the next message about answers comes at 30"


def test_what_is_refused_is_tried_again_and_given_up(
    owner: TestClient, database: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "PAUSES", (timedelta(minutes=1), timedelta(hours=2)))
    webhook = make(owner, receiver, runs=True)
    receiver.statuses = [500, 302, 404]
    assert owner.post(f"{ONE}/{webhook['id']}/test").status_code == 202
    for status, pause in ((500, 60), (302, 7200)):
        look(database)
        look(database)  # it is not due
        [tried] = deliveries(owner, webhook)
        assert (tried["status"], tried["result"]) == ("waiting", f"The receiver answered {status}.")
        with database.reading() as session:
            next_at = session.scalars(sa.select(Delivery.next_at)).one()
        assert pause - 60 < (next_at - now()).total_seconds() <= pause
        retry_now(database)
    look(database)
    [ended] = deliveries(owner, webhook)
    assert (ended["status"], ended["attempts"], ended["next_at"]) == ("given up", 3, None)
    assert {json.loads(body)["delivery"] for _, body in receiver.messages} == {ended["id"]}, "one number for all"
    assert len(receiver.messages) == 3, "no redirect was followed"


def test_a_clock_that_is_set_back_holds_no_message_up(
    owner: TestClient, database: Database, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(courier, "PAUSES", (timedelta(minutes=1), timedelta(hours=2)))
    webhook = make(owner, receiver, runs=True)
    receiver.statuses = [500, 500]
    assert owner.post(f"{ONE}/{webhook['id']}/test").status_code == 202
    for attempt, planned in ((1, timedelta(hours=1)), (2, timedelta(hours=3))):
        look(database)
        assert deliveries(owner, webhook)[0]["attempts"] == attempt
        look(database)
        assert deliveries(owner, webhook)[0]["attempts"] == attempt, "it waits as it should"
        with database.transaction() as session:  # as if this had been planned before the clock was set back
            session.execute(sa.update(Delivery).values(next_at=now() + planned))
    look(database)
    assert deliveries(owner, webhook)[0]["status"] == "delivered"


def test_a_message_outlives_its_process(owner: TestClient, database: Database, receiver: Receiver) -> None:
    """A killed process has claimed a message and noted nothing: another one sends it once the claim is over."""
    webhook = make(owner, receiver, runs=True)
    owner.post(f"{ONE}/{webhook['id']}/test")
    [claimed] = Courier(database, private_too=True)._claim_messages()
    look(database)
    assert receiver.messages == []
    retry_now(database)
    look(database)
    assert [json.loads(body)["delivery"] for _, body in receiver.messages] == [claimed.delivery_id]
    assert deliveries(owner, webhook)[0]["attempts"] == 2


def test_nothing_is_sent_to_private_addresses_whatever_a_name_leads_to(
    owner: TestClient, database: Database, receiver: Receiver
) -> None:
    webhook = make(owner, receiver, runs=True)
    owner.post(f"{ONE}/{webhook['id']}/test")
    look(database, private_too=False)
    assert receiver.messages == []
    assert "localhost was not connected to" in str(deliveries(owner, webhook)[0]["result"])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fd00::1",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "2002:a00:1::",
        "::",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))
    host = f"[{address}]" if ":" in address else address
    assert fault_of_url(f"https://{host}/told", private_too=False) is not None


def certificate_of(host: str) -> bytes:
    """Make a key, and a certificate of a host that is signed with it and that nobody trusts by itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now() - timedelta(hours=1))
        .not_valid_after(now() + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, SHA256())
    )
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key.private_bytes(*plain) + certificate.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("host", ["localhost", "elsewhere.example.org"])
def test_a_message_goes_only_to_a_receiver_with_a_trusted_certificate_for_its_name(
    owner: TestClient,
    database: Database,
    receiver: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
) -> None:
    certificate = tmp_path / "receiver.pem"
    certificate.write_bytes(certificate_of(host))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    receiver.socket = tls.wrap_socket(receiver.socket, server_side=True)
    make(owner, receiver, url=receiver.url.replace("http:", "https:"), runs=True)
    end_a_run(database, "done")
    look(database)
    assert receiver.messages == [], "nobody has said that the certificate is to be trusted"
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted_authorities.cache_clear()
    retry_now(database)
    look(database)
    trusted_authorities.cache_clear()
    assert len(receiver.messages) == (1 if host == "localhost" else 0)


def test_addresses_that_are() -> None:
    assert is_public(ip_address("9.9.9.9"))
    assert is_public(ip_address("2620:fe::fe"))
    assert fault_of_url("https://example.org:8443/told?x=1", private_too=False) is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "ftp://example.org", "runs": True}, "url"),
        ({"url": "https://ada:secret@example.org", "runs": True}, "url"),
        ({"url": "https://", "runs": True}, "url"),
        ({"url": "https://example.org"}, "runs"),
        ({"url": "https://example.org", "every_answers": -1}, "every_answers"),
    ],
)
def test_mistakes_are_named(owner: TestClient, body: dict[str, object], field: str) -> None:
    refused = owner.post(ONE, json=body)
    assert refused.status_code == 422
    assert field in json.dumps(refused.json()["errors"])


def test_owners_list_and_remove_them_and_it_is_audited(
    owner: TestClient, database: Database, receiver: Receiver
) -> None:
    webhook = make(owner, receiver, runs=True)
    [listed] = owner.get(ONE).json()["webhooks"]
    assert (listed["url"], listed["newest"]) == (receiver.url, None)
    assert "secret" not in listed
    assert owner.delete(f"{ONE}/{webhook['id']}").json() == {"deleted": webhook["id"]}
    assert owner.delete(f"{ONE}/{webhook['id']}").status_code == 404
    for _ in range(service.MOST_WEBHOOKS):
        make(owner, receiver, runs=True)
    assert owner.post(ONE, json={"url": receiver.url, "runs": True}).status_code == 409
    with database.reading() as session:
        entries = session.scalars(sa.select(AuditEntry).order_by(AuditEntry.number)).all()
        assert [entry.what for entry in entries][:2] == ["webhook made", "webhook removed"]
        secrets = session.scalars(sa.select(Webhook.secret)).all()
    assert not [secret for secret in secrets if secret in json.dumps([entry.after for entry in entries])]


def test_the_settings_page_has_them(owner: TestClient, receiver: Receiver) -> None:
    page = "/projects/songs/settings"
    owner.headers["Accept"] = "text/html"
    refused = owner.post(f"{page}/webhooks", data={"url": "ftp://x", "runs": "true"})
    assert refused.status_code == 422
    assert 'id="url-problem"' in refused.text
    made = owner.post(f"{page}/webhooks", data={"url": receiver.url, "every_answers": "50"})
    assert made.status_code == 201
    assert "not shown again" in made.text
    shown = owner.get(page).text
    assert receiver.url in shown
    assert "every 50 answers" in shown
    number = owner.get(ONE).json()["webhooks"][0]["id"]
    assert owner.post(f"{page}/webhooks/{number}/test").url.path == page
    assert "newest message waiting" in owner.get(page).text
    assert owner.post(f"{page}/webhooks/{number}/remove").status_code == 200
    assert receiver.url not in owner.get(page).text


@pytest.mark.only_on("sqlite")
def test_the_courier_goes_on_whatever_one_message_brings_about(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    async def look() -> None:
        looks.append("looked")
        if len(looks) == 1:
            raise RuntimeError("nobody foresaw this")

    async def go_on() -> None:
        tried = Courier(database, private_too=True)
        monkeypatch.setattr(tried, "look", look)
        tried.start()
        while len(looks) < 2:
            await asyncio.sleep(0.01)
        await tried.close()

    monkeypatch.setattr(courier, "POLL_SECONDS", 0.0)
    run(asyncio.wait_for(go_on(), 10))
