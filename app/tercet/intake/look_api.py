"""How a project's sounds are drawn and what features its items get, tried and chosen over REST."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from tercet.accounts.access import Action, Me, authorize
from tercet.features.recipes import MOST_NUMBERS, MOST_WEIGHT, Recipe, describe
from tercet.intake import picture_trial, recipe_choice
from tercet.models import Project
from tercet.sounds.picture_settings import PictureSettings
from tercet.web.dependencies import Blobs, Db
from tercet.web.errors import Invalid
from tercet.web.numbers import Count
from tercet.web.problems import problems
from tercet.web.texts import Name, Text

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404, 422))
DEFAULTS = PictureSettings()
GROUP_EXAMPLE: dict[str, Any] = {"kind": "sound_codes", "numbers": 32, "weight": 1.0}
Number = Annotated[float, Field(allow_inf_nan=False)]


class PictureQuery(BaseModel):
    """A sound of the project, and settings to draw it by."""

    model_config = ConfigDict(extra="forbid")

    key: Text = Field(description="the item")
    low_hz: Number = DEFAULTS.low_hz
    high_hz: Number = DEFAULTS.high_hz
    window_seconds: Number = DEFAULTS.window_seconds
    dynamic_range_db: Number = DEFAULTS.dynamic_range_db
    colour_map: Name = DEFAULTS.colour_map
    seconds: Number = Field(DEFAULTS.seconds, description="what the width of a picture stands for")
    expansion: Number = Field(DEFAULTS.expansion, description="how many times slower it is played")

    def settings(self) -> PictureSettings:
        """Return the settings; raise Invalid with a sentence if nothing can be drawn by them."""
        try:
            return PictureSettings(**self.model_dump(exclude={"key"}))
        except ValueError as error:
            raise Invalid(f"Nothing can be drawn like this: {error}.") from error


class GroupIn(BaseModel):
    """One group of features."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [GROUP_EXAMPLE]})

    kind: Name = Field(description="such as sound_measures, picture_shapes, text_words, or plugin:NAME")
    numbers: Annotated[Count, Field(le=MOST_NUMBERS)] = Field(0, description="0: as many as it has")
    weight: Annotated[float, Field(gt=0, le=MOST_WEIGHT, allow_inf_nan=False)] = 1.0


class RecipeIn(BaseModel):
    """Groups of features; null: what is usual for such items."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"groups": [GROUP_EXAMPLE]}]})

    groups: Annotated[list[GroupIn], Field(min_length=1, max_length=100)] | None


class RecipeOut(BaseModel):
    """The groups that somebody chose, and these in words; null: what is usual for such items."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"groups": [GROUP_EXAMPLE], "words": "up to 32 numbers learned from these recordings"}]
        }
    )

    groups: list[GroupIn] | None
    words: str | None

    @classmethod
    def of(cls, project: Project) -> "RecipeOut":
        """Show the recipe of a project."""
        if project.feature_recipe is None:
            return cls(groups=None, words=None)
        groups = [GroupIn.model_validate(group) for group in project.feature_recipe["groups"]]
        return cls(groups=groups, words=describe(Recipe.from_dict(project.feature_recipe)))


@router.get(
    "/{project}/picture-trial",
    response_class=Response,
    responses={200: {"content": {"image/png": {"example": "bytes"}}}},
)
def get_picture_trial(project: str, asked: Annotated[PictureQuery, Query()], me: Me, db: Db, blobs: Blobs) -> Response:
    """Draw one sound by settings that are only tried: nothing is stored."""
    settings = asked.settings()
    with db.reading() as session:
        blob = picture_trial.sound_of(session, authorize(session, me, project, Action.READ).project, asked.key)
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return Response(picture_trial.draw(blobs, blob, settings), media_type="image/png", headers=headers)


@router.get("/{project}/feature-recipe")
def get_recipe(project: str, me: Me, db: Db) -> RecipeOut:
    """Read which groups of features somebody chose for the items of the project."""
    with db.reading() as session:
        return RecipeOut.of(authorize(session, me, project, Action.READ).project)


@router.put("/{project}/feature-recipe", status_code=202)
def put_recipe(project: str, body: RecipeIn, me: Me, db: Db) -> RecipeOut:
    """Choose the groups of features, which are made in the background: a run on them follows."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.WRITE)
        recipe = body.groups and recipe_choice.read_groups([group.model_dump() for group in body.groups])
        recipe_choice.choose(session, access.project, recipe or None, access.user)
        return RecipeOut.of(access.project)
