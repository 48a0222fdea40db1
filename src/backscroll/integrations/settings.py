"""Shared by the settings of all adapters: strict pydantic models, and errors that say what to change.

A model is the only source of a setting: its annotation gives type and range, and the docstring after it gives the
meaning, which appears in errors and in the tables of the documents (`docs/write_settings.py`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from operator import getitem
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from backscroll.errors import ConfigurationError
from backscroll.stores.addresses import shown as without_password

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]

_SHOULD = re.compile(r"^\w+ should (be )?|^Value error, ")
_MAPPING = re.compile("valid dictionary or instance of .*")


class SettingsModel(BaseModel):
    """A group of settings that rejects unknown keys and converts no value."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True, hide_input_in_errors=True
    )

    @model_validator(mode="before")
    @classmethod
    def _none_is_the_default(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {key: value for key, value in given.items() if value is not None or key not in cls.model_fields}


M = TypeVar("M", bound=SettingsModel)


class Row(NamedTuple):
    """A setting as the documents show it."""

    name: str
    """With its parent keys: `compression.window_size`."""
    default: Any
    meaning: str


def rows(model: type[SettingsModel], part: str = "") -> Iterator[Row]:
    """Yield every setting of a model; a group's settings follow its own key."""
    for name, field in model.model_fields.items():
        yield Row(part + name, field.default, " ".join((field.description or "").split()))
        for inner in get_args(field.annotation):
            if isinstance(inner, type) and issubclass(inner, SettingsModel):
                yield from rows(inner, f"{part}{name}.")


def read(model: type[M], given: Mapping[str, Any], part: str = "") -> M:
    """Return the settings that a user gave; `None` means the default.

    An error quotes texts and numbers, and of any other value only the type: a connection or a client may hold a secret.

    Args:
        model: The pydantic model of the settings.
        given: The user's values.
        part: Parent keys, each followed by a dot.

    Raises:
        ConfigurationError: Names every unknown key and every value that cannot work.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems = error.errors(include_url=False)
    # Raised outside the handler: as this error's context, pydantic's own would reach logs with all values in it.
    found: dict[tuple[Any, ...], list[Any]] = {}
    for problem in problems:
        found.setdefault(tuple(_keys(problem["loc"], given)), []).append(problem)
    inner = {path[:length] for path in found for length in range(len(path))}  # their problems say more
    meanings = {row.name: row.meaning for row in rows(model, part)}
    raise ConfigurationError(
        "; ".join(_sentence(path, found[path], given, meanings, part) for path in found if path not in inner)
    )


def unknown_key(name: Any, known: Iterable[str]) -> str:
    """Return a question with the known key closest to this one, or the list of known keys."""
    return nearest(name, known) or f"known are {', '.join(map(repr, known))}"


def nearest(name: Any, known: Iterable[str]) -> str | None:
    """Return a question with the known key closest to this one; `None` if none is close."""
    near = get_close_matches(str(name), list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None


def shown(value: Any) -> str:
    """Return a value as errors quote it: a number; up to 80 characters of a text, without the password of an address;
    or the type.
    """
    if not isinstance(value, str | int | float):
        return f"a value of the type {type(value).__name__}"
    return f"{without_password(repr(value)):.80}"


def _keys(place: Sequence[Any], value: Any) -> Iterator[Any]:
    """Yield the keys of a location, without pydantic's names for the types of a union."""
    for key in place:
        if (isinstance(value, Mapping) and key in value) or (isinstance(value, list) and type(key) is int):
            value = value[key]
            yield key


def _sentence(
    path: tuple[Any, ...], problems: Sequence[Any], values: Any, meanings: Mapping[str, str], part: str
) -> str:
    """Describe what is wrong in one place; a value that fits no type of a union has one problem a type."""
    for problem in problems:
        if isinstance(own := problem.get("ctx", {}).get("error"), ConfigurationError):
            return str(own)
    name = part + ".".join(map(str, path))
    if problems[0]["type"] in ("extra_forbidden", "invalid_key"):
        group, _, key = name.rpartition(".")
        known = [other.rpartition(".")[2] for other in meanings if other.rpartition(".")[0] == group]
        return f"unknown key `{name:.60}`; {unknown_key(key, known)}"
    wanted = " or ".join(_MAPPING.sub("mapping of its settings", _SHOULD.sub("", each["msg"])) for each in problems)
    verb = "" if wanted.startswith("have ") else "be "  # at least 1 character
    meaning = f" ({meanings[name]})" if name in meanings else ""
    return f"`{name}` must {verb}{wanted}, not {shown(reduce(getitem, path, values))}{meaning}"
