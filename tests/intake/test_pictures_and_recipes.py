"""How sounds are drawn and what features are made of: tried, chosen by REST and on the settings page, made anew."""

import io

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from PIL import Image

from tercet.database import Database
from tercet.features.recipes import WEIGHTS_BY_SPECTRUM
from tercet.models import FeatureSet, Project
from tercet.settings import Settings
from tercet.sounds.spectrograms import PICTURE_SIZE
from tercet.storage import Storage
from tercet.worker.inputs import load
from tests.intake.conftest import PROJECT, wav
from tests.intake.support import do_jobs, import_files
from tests.runs.support import get_run, request_and_claim

# Pages and what is refused do not depend on the kind of database.
pytestmark = pytest.mark.only_on("sqlite")

PAGE = "/projects/songs/settings"
RECIPE = f"{PROJECT}/feature-recipe"


@pytest.fixture
def sounds(client: TestClient, database: Database, settings: Settings) -> TestClient:
    """A client of a project with five tones of rising length and pitch, and their features."""
    files = {f"tone-{n}.wav": wav(0.1 + 0.1 * n, hz=600 + 300 * n) for n in range(5)}
    import_files(client, database, settings, files)
    return client


def newest(database: Database) -> FeatureSet:
    with database.reading() as session:
        return session.scalars(sa.select(FeatureSet).order_by(FeatureSet.version.desc()).limit(1)).one()


def stored(database: Database) -> Project:
    with database.reading() as session:
        return session.scalars(sa.select(Project)).one()


def test_the_settings_page_shows_three_lengths_and_the_groups(sounds: TestClient) -> None:
    page = sounds.get(PAGE).text
    on_page = [f'data-key="tone-{n}"' in page for n in range(5)]
    assert on_page == [True, False, True, False, True], "the shortest, the typical and the longest"
    for kind in ("sound_measures", "sound_codes", "sound_outline"):
        assert f'name="group.{kind}" checked' in page
    assert "These are the usual ones" in page
    assert "picture_shapes" not in page


def test_settings_are_tried_on_one_sound(sounds: TestClient, database: Database) -> None:
    before = stored(database).picture_settings
    pictures = []
    for top in (2_000, 4_000):
        answer = sounds.get(f"{PROJECT}/picture-trial", params={"key": "tone-4", "high_hz": top, "seconds": 0.25})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png"), answer.text
        pictures.append(answer.content)
    assert pictures[0] != pictures[1]
    assert Image.open(io.BytesIO(pictures[0])).width == 2 * PICTURE_SIZE[0], (
        "half a second at a quarter of a second a picture"
    )
    assert stored(database).picture_settings == before


@pytest.mark.heavy(but="params0")
@pytest.mark.parametrize(
    ("params", "status", "words"),
    [
        ({"key": "tone-9"}, 404, "There is no item 'tone-9' with a sound"),
        ({"key": "tone-0", "low_hz": 5_000, "high_hz": 4_000}, 422, "low_hz has to lie 10 Hz or more below high_hz"),
        ({"key": "tone-0", "colour_map": "rainbow"}, 422, "colour_map has to be one of"),
        ({"key": "tone-0", "seconds": "inf"}, 422, "finite"),
    ],
)
def test_what_cannot_be_drawn(sounds: TestClient, params: dict[str, str | float], status: int, words: str) -> None:
    refused = sounds.get(f"{PROJECT}/picture-trial", params=params)
    assert (refused.status_code, words in refused.text) == (status, True), refused.text


def test_pictures_are_fitted_anew(sounds: TestClient, database: Database, settings: Settings) -> None:
    fitted = stored(database).picture_settings
    assert sounds.post("/projects/songs/pictures", data={"preset": "whale"}).status_code == 200
    assert stored(database).picture_settings["high_hz"] == 1_000
    sounds.post("/projects/songs/pictures", data={"preset": "fit"})
    assert set(do_jobs(database, settings)) == {"done"}
    assert stored(database).picture_settings == fitted


def test_groups_are_chosen_on_the_page(sounds: TestClient, database: Database, settings: Settings) -> None:
    form = {"group.sound_measures": "on", "numbers.sound_measures": "0", "weight.sound_measures": "2"}
    sounds.post("/projects/songs/features/make", data=form | {"weight.sound_codes": "1"})
    assert do_jobs(database, settings) == ["done"]
    features = newest(database)
    assert (features.version, features.words.startswith("33 measurements of each sound")) == (2, True)
    page = sounds.get(PAGE).text
    assert "Chosen by hand." in page
    assert 'name="group.sound_codes">' in page
    sounds.post("/projects/songs/features/make", data=form | {"usual": "yes"})
    assert do_jobs(database, settings) == ["done"]
    assert stored(database).feature_recipe is None
    assert "learned from these recordings" in newest(database).words


def test_default_weights_stay_as_they_are_as_long_as_no_others_are_clearly_better(
    sounds: TestClient, database: Database, settings: Settings
) -> None:
    features = newest(database)
    groups = [group | {"weight": WEIGHTS_BY_SPECTRUM[group["kind"]]} for group in features.recipe["groups"]]
    assert groups != features.recipe["groups"]
    with database.transaction() as session:
        session.get_one(FeatureSet, features.id).recipe = features.recipe | {"groups": groups}
        session.execute(sa.update(Project).values(n_clusters=4))  # too many for five tones to say anything
    sounds.post("/projects/songs/features/make", data={"usual": "yes"})
    assert do_jobs(database, settings) == ["done"]
    assert newest(database).version == 2
    assert newest(database).recipe["groups"] == groups


def test_a_recipe_over_rest(sounds: TestClient, database: Database, settings: Settings) -> None:
    assert sounds.get(RECIPE).json() == {"groups": None, "words": None, "making": False}
    groups = [{"kind": "sound_outline", "numbers": 3, "weight": 1.0}]
    put = sounds.put(RECIPE, json={"groups": groups})
    assert (put.status_code, put.json()["groups"]) == (202, groups)
    assert put.json()["words"] == "up to 3 numbers for the outline of each sound in time and pitch"
    sounds.put(RECIPE, json={"groups": groups})
    assert sounds.get(RECIPE).json()["making"] is True
    assert do_jobs(database, settings) == ["done"], "two wishes in a row are one job"
    assert sounds.get(RECIPE).json()["making"] is False
    assert newest(database).d == 3


def test_runs_know_the_group_of_each_column(sounds: TestClient, database: Database, storage: Storage) -> None:
    features = newest(database)
    run_id = request_and_claim(database, stored(database).id, parameters={"n_clusters": 2})
    groups = load(database, storage, get_run(database, run_id)).feature_groups
    assert groups is not None
    assert len(groups) == features.d
    assert groups.count("sound_measures") == 33
    assert set(groups) == {"sound_measures", "sound_codes", "sound_outline"}


@pytest.mark.heavy(but="groups0")
@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([], "at least 1 item"),
        ([{"kind": "colours"}], "is not a kind of features"),
        ([{"kind": "sound_codes"}, {"kind": "sound_codes"}], "is in the recipe twice"),
        ([{"kind": "sound_codes", "weight": 0}], "greater than 0"),
    ],
)
def test_what_is_no_recipe(sounds: TestClient, database: Database, groups: list[dict[str, object]], words: str) -> None:
    refused = sounds.put(RECIPE, json={"groups": groups})
    assert (refused.status_code, words in refused.text) == (422, True), refused.text
    assert stored(database).feature_recipe is None
    assert sounds.post("/projects/songs/features/make", data={"weight.sound_codes": "1"}).status_code == 422
