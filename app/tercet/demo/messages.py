"""Synthetic short messages about six topics, to a landlord, the town or a shop, in many wordings.

No two wordings share all their words, and topics share many (when, where, please, thanks), so that features alone
group them in part and people do better.
"""

from dataclasses import dataclass
from string import Formatter

import numpy as np

N_MESSAGES = 300
USUAL = 0.7  # share of messages without an opening, and of those without a closing
OPENINGS = ("Hello, ", "Good morning, ", "Dear all, ", "Sorry to write again, ", "Just a short note: ", "As I said, ")
CLOSINGS = (
    " Thank you.",
    " Thanks in advance.",
    " Please call me back.",
    " I am at home most evenings.",
    " My neighbour says the same.",
    " This is not the first time.",
)
WORDS = {
    "when": (
        "since Monday",
        "every morning",
        "for two weeks now",
        "after nine at night",
        "on the third of May",
        "today",
    ),
    "where": (
        "in the kitchen",
        "on the second floor",
        "by the back door",
        "in our street",
        "near the school",
        "upstairs",
    ),
    "much": ("quite", "terribly", "a little", "far too", "hardly bearably", "rather"),
    "day": ("Tuesday", "Friday", "the weekend", "tomorrow", "next week", "the end of the month"),
    "thing": ("lamp", "kettle", "jacket", "pair of boots", "phone", "bookshelf"),
    "number": ("two", "three", "four", "a dozen", "five", "several"),
}


@dataclass(frozen=True)
class Topic:
    """What some of the messages are about: its own words, and wordings with places for words that vary."""

    name: str
    subjects: tuple[str, ...]
    wordings: tuple[str, ...]


TOPICS = (
    Topic(
        "heating",
        ("radiator", "heating", "boiler", "thermostat"),
        (
            "the {subject} {where} stays cold {when}, and it is {much} chilly.",
            "we have had no warm water {when}; the {subject} only clicks.",
            "the {subject} shows sixteen degrees whatever I do {when}.",
            "could somebody repair the {subject} {where}? It knocks and does not get warm.",
            "without the {subject} the flat is {much} cold {when}; we sit here in coats.",
        ),
    ),
    Topic(
        "noise",
        ("music", "noise", "drumming", "barking"),
        (
            "there is {much} loud {subject} {when}, and nobody {where} can sleep.",
            "the people {where} do not stop their {subject} {when}.",
            "I cannot sleep: the {subject} {where} is {much} annoying {when}.",
            "{number} parties in a month are too many: the {subject} shakes the walls {when}.",
            "we asked them {where} for quiet, but the loud {subject} goes on {when}.",
        ),
    ),
    Topic(
        "delivery",
        ("parcel", "delivery", "courier", "order"),
        (
            "my {subject} with the {thing} should have come by {day} and has not.",
            "the tracking of the {subject} has said 'on its way' {when}; where is my {thing}?",
            "the {subject} was left {where} without ringing the bell.",
            "I paid for {number}, and the {subject} brought one {thing}.",
            "can the {subject} go to another address before {day}?",
        ),
    ),
    Topic(
        "refund",
        ("refund", "money", "payment", "invoice"),
        (
            "I sent the {thing} back and still wait for my {subject} {when}.",
            "the {thing} broke after {number} days; I would like my {subject} back.",
            "you charged my card twice for the {thing}, please look at the {subject}.",
            "the {subject} for the {thing} is {much} wrong.",
            "may I return the {thing} until {day}, and get a {subject}?",
        ),
    ),
    Topic(
        "appointment",
        ("appointment", "booking", "meeting", "visit"),
        (
            "I cannot come on {day}; is there a later {subject}?",
            "please move our {subject} from {day}, I am {much} busy {when}.",
            "are you open on {day}, and do I need a {subject} for {number} people?",
            "I would like a {subject} before {day}, if there is a free hour.",
            "we waited {where} for {number} hours although we had a {subject}.",
        ),
    ),
    Topic(
        "traffic",
        ("cars", "lorries", "traffic", "buses"),
        (
            "the {subject} stand on the pavement {where} {when}; prams cannot pass.",
            "the light {where} has been dark {when}, and the {subject} do not stop.",
            "there is a {much} deep hole in the road {where}: {number} cyclists fell between the {subject}.",
            "the {subject} race {where} {when} although thirty is the limit.",
            "the road {where} is full of {subject} {when}, children cannot cross.",
        ),
    ),
)


@dataclass(frozen=True)
class ShortMessage:
    """One message; `topic` is its true class."""

    key: str
    topic: int
    text: str


def make_messages(n: int = N_MESSAGES, seed: int = 0) -> list[ShortMessage]:
    """Return `n` messages in random order, no two the same; the same seed makes the same messages."""
    rng = np.random.default_rng(seed)
    topics = rng.permutation(np.arange(n) % len(TOPICS))
    digits = max(3, len(str(n)))
    messages: list[ShortMessage] = []
    seen: set[str] = set()
    for number, topic in enumerate(topics, start=1):
        text = _write(TOPICS[topic], rng)
        while text in seen:
            text = _write(TOPICS[topic], rng)
        seen.add(text)
        messages.append(ShortMessage(f"message-{number:0{digits}d}", int(topic), text))
    return messages


def _write(topic: Topic, rng: np.random.Generator) -> str:
    """Return one message about a topic."""
    wording = topic.wordings[rng.integers(len(topic.wordings))]
    choices = WORDS | {"subject": topic.subjects}
    places = [name for _, name, _, _ in Formatter().parse(wording) if name]
    text = wording.format(**{name: choices[name][rng.integers(len(choices[name]))] for name in places})
    opening, closing = (_sometimes(phrases, rng) for phrases in (OPENINGS, CLOSINGS))
    text = f"{opening}{text}{closing}"
    return text[0].upper() + text[1:]


def _sometimes(phrases: tuple[str, ...], rng: np.random.Generator) -> str:
    return "" if rng.uniform() < USUAL else phrases[rng.integers(len(phrases))]
