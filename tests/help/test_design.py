"""The help page of the design language shows every token as the style sheet has it, and every component twice."""

import re

from fastapi.testclient import TestClient

from tercet.help.tokens import read_tokens
from tercet.settings import asset


def test_every_token_is_read_with_both_themes() -> None:
    tokens = {token.name: token for token in read_tokens()}
    css = (asset("static") / "web" / "style.css").read_text()
    assert set(tokens) == set(re.findall(r"^\s*--([\w-]+):", css, re.MULTILINE))
    assert (tokens["paper"].light, tokens["paper"].dark) == ("#f6f7f7", "#13171a")
    assert tokens["space"].light == tokens["space"].dark
    assert "3:1" in tokens["edge"].words


def test_the_page_shows_every_token_and_component(anonymous: TestClient) -> None:
    page = anonymous.get("/help/design").text
    for token in read_tokens():
        assert f"--{token.name}</code>" in page
    for component in ("primary", "danger", "notice bad", "card", "badge good", "chip", "ramp", "sparkline", "field"):
        assert len(re.findall(rf'class="{component}"', page)) >= 2, component
