"""The languages of labelers' pages: catalogues are complete and true to the messages; who gets which language."""

import re
import uuid

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import update

from benchmarks.catalogues import messages
from tercet.models import Project, Role
from tercet.translatable import to_translate
from tercet.web.languages import ENGLISH, LANGUAGES, catalogue, choose, words_of
from tests.factories import add_member, make_project, signed_in

# One kind of database is enough: nothing here is in it.
pytestmark = pytest.mark.only_on("sqlite")
PLACES = re.compile(r"%\(\w+\)s|\{\w+\}|%%|<[^>]+>")
LABEL = "/projects/songs/label"


def forms(text: object) -> tuple[str, ...]:
    return tuple(text) if isinstance(text, tuple | list) else (str(text),)


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {ENGLISH}))
def test_every_message_is_translated_and_has_the_same_places(language: str) -> None:
    translated = {forms(message.id): forms(message.string) for message in catalogue(language) if message.id}
    expected = {forms(message.id) for message in messages() if message.id}
    assert len(expected) > 150
    assert translated.keys() == expected, "python -m benchmarks.catalogues brings them up to date"
    for ids, texts in translated.items():
        assert all(texts), f"'{ids[0]}' has no translation"
        for text in texts:
            assert sorted(PLACES.findall(text)) == sorted(PLACES.findall(ids[-1])), ids


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "de", "de"),
        (None, "de-AT,de;q=0.9,en;q=0.8", "de"),
        (None, "fr,en;q=0.9,de;q=0.8", "en"),
        (None, "fr;q=1,de;q=0.5", "de"),
        (None, "de;q=0,en;q=0.1", "en"),
        (None, "de;q=x, \x00,,;;q=", "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("xx", "de", "de"),
    ],
)
def test_the_choice_of_a_labeler_counts_more_than_the_browser(chosen: str | None, accepted: str, language: str) -> None:
    assert choose(chosen, accepted) == language


def test_numbers_get_their_forms() -> None:
    one, many = "This project has %(count)s item: a question needs three. Ask the project's owner to add items.", ""
    many = one.replace(" item:", " items:")
    texts = [words_of("de").say_many(one, many, count) for count in (1, 2)]
    assert [text.partition(",")[0] for text in texts] == ["Dieses Projekt hat 1 Objekt", "Dieses Projekt hat 2 Objekte"]
    assert words_of("de").for_scripts["plurals"][:4] == "1011"


def test_labelers_choose_their_language_and_analysts_pages_stay_english(app: FastAPI) -> None:
    with app.state.database.transaction() as session:
        ada = add_member(session, make_project(session, n_items=2), Role.ANALYST)
    with signed_in(app, ada) as client:
        page = client.get(LABEL, headers={"accept-language": "de-CH,de;q=0.9"})
        assert page.headers["content-language"] == "de"
        assert '<html lang="de" dir="ltr" data-words="' in page.text
        assert "Dieses Projekt hat 2 Objekte, eine Frage braucht drei." in page.text
        assert "Gerade gibt es keine Frage" in page.text
        asked = client.get("/api/v1/projects/songs/triplets/next", headers={"accept-language": "de"}).json()
        assert asked["reason"].startswith("Dieses Projekt hat 2 Objekte")
        assert '<html lang="en" dir="ltr">' in client.get("/projects/songs", headers={"accept-language": "de"}).text
        form = {"language": "de", "back": LABEL}
        done = client.post("/language", data=form, follow_redirects=False)
        assert (done.status_code, done.headers["location"]) == (303, LABEL)
        assert '<html lang="de"' in client.get(LABEL, headers={"accept-language": "en"}).text
        for back in ("https://example.org", "//example.org/label", "/\\example.org", "/projects/a/label\n"):
            done = client.post("/language", data={**form, "back": back}, follow_redirects=False)
            assert done.headers["location"] == "/"
        refused = client.post("/language", data={"language": "xx"}, headers={"accept": "application/json"})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "language")


def test_whoever_cannot_come_in_reads_why_in_their_language(app: FastAPI) -> None:
    page = {"accept": "text/html", "accept-language": "de"}
    with TestClient(app) as client:
        refused = client.get(LABEL, headers=page)
        assert refused.status_code == 401
        assert "<h1>Bitte melden Sie sich an</h1>" in refused.text
        assert "öffnen Sie den Link" in refused.text
        assert "Dieser Link ist hier nicht bekannt" in client.get("/join/nothing", headers=page).text
        assert "Jeder geht einmal" in client.get("/sign-in/nothing", headers=page).text
        assert "Sign in first" in client.get(LABEL, headers={"accept-language": "de"}).json()["detail"]
        assert '<html lang="en"' in client.get("/nowhere", headers=page).text, "sentences of other pages are in English"
    with app.state.database.transaction() as session:
        ada = add_member(session, make_project(session, n_items=3), Role.LABELER)
    with signed_in(app, ada) as client:
        answers = {"answers": [{"id": str(uuid.uuid4()), "triplet": ["item-0", "item-1", "?"], "answer": "yes"}]}
        refused = client.post("/api/v1/projects/songs/answers", json=answers, headers={"accept-language": "de"})
        assert refused.json()["detail"].startswith("Eine Frage nennt drei verschiedene Objekte")
        assert refused.json()["errors"][0]["detail"] == "in diesem Projekt gibt es kein Objekt „?“"


def test_refusals_say_their_values_in_the_language_of_who_is_refused(app: FastAPI) -> None:
    german, nobody = {"accept-language": "de"}, uuid.uuid4()
    with app.state.database.transaction() as session:
        ada = add_member(session, make_project(session, n_items=3), Role.LABELER)
    with signed_in(app, ada) as client:
        withdrawn = f"/api/v1/projects/songs/answers/{nobody}"
        refused = client.delete(withdrawn, headers=german).json()
        assert refused["detail"] == f"In diesem Projekt gibt es keine Antwort {nobody}."
        assert client.delete(withdrawn).json()["detail"] == f"There is no answer {nobody} in this project."
        settings = client.get("/projects/songs/settings", headers={**german, "accept": "text/html"})
        assert (settings.status_code, settings.headers["content-language"]) == (403, "de")
        assert "Sie sind hier Labeler; das erlaubt dies nicht." in settings.text
        assert "<h1>Nicht erlaubt</h1>" in settings.text
        hostile = client.get("/api/v1/projects/%25(key)s%25/triplets/next", headers=german).json()
        assert hostile["detail"] == "Es gibt kein Projekt „%(key)s%“, zu dem Sie gehören."


def test_a_message_has_its_values_and_those_that_are_messages_are_translated() -> None:
    role = to_translate("Your role here is %(role)s.", role=to_translate("labeler"))
    assert role == "Your role here is labeler."
    assert words_of("de").translated(role) == "Your role here is Labeler.", "the sentence has no translation"
    assert words_of("de").translated("labeler") == "labeler", "only what is marked is translated"
    assert words_of(ENGLISH).translated(role) == role


def test_signing_in_and_invitations_are_in_the_language_of_who_comes(app: FastAPI) -> None:
    page = {"accept": "text/html", "accept-language": "de"}
    with TestClient(app) as client:
        refused = client.post("/sign-in", data={"email": "a@example.org", "password": "wrong"}, headers=page)
        assert (refused.status_code, "Die Adresse oder das Passwort ist falsch" in refused.text) == (401, True)
        assert "Diese Einladung gilt nicht mehr" in client.get("/invitation/nothing", headers=page).text


def test_hostile_names_stay_text_in_translated_sentences(app: FastAPI) -> None:
    with app.state.database.transaction() as session:
        ada = add_member(session, make_project(session, n_items=3), Role.LABELER)
        session.execute(update(Project).values(question_text="<b>%(count)s</b> 100 %", name="<i>"))
    with signed_in(app, ada) as client:
        page = client.get(LABEL, headers={"accept-language": "de"}).text
    assert "&lt;b&gt;%(count)s&lt;/b&gt; 100 %" in page
    assert "<i>" not in page.partition("<main")[2].replace('<i class="', "")
