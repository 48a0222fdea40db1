"""Options of a manager as a file: TOML or JSON, read as arguments, and written."""

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from backscroll.compaction.options import CachePricing, Protection, ToolResultPreview
from backscroll.errors import ConfigurationError
from backscroll.tokens.budget import BudgetOptions

GROUPS: Mapping[str, Any] = {
    "budget": BudgetOptions,
    "protect": Protection,
    "tool_result_preview": ToolResultPreview,
    "cache_pricing": CachePricing,
}
"""Options that a file holds as a table, and what each becomes."""
NAMES = (
    *("mode", "compact_threshold", "target_usage", "compact_at", "compact_to", "strategies", "max_messages"),
    *("clear_at_least_tokens", "plan_ahead", "overhead_tokens", "tokenizer", "model", "cache_marks", *GROUPS),
)
"""Options that a file may hold: what decides views. Stores, functions and keys belong to the program."""


def read_options(path: str | Path) -> dict[str, Any]:
    """Read a file of options, such as `backscroll tune` writes: `ContextManager(**read_options("tuned.toml"))`.

    Args:
        path: A file in TOML or JSON. Its keys are names of options that decide views; `protect`,
            `tool_result_preview`, `cache_pricing` and `budget` may be tables.

    Returns:
        The arguments of a manager.

    Raises:
        ConfigurationError: The file cannot be read, or holds an unknown name or a value out of range.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot read the options: {error.strerror}: check the path") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: cannot read the options: {error}: save the file as UTF-8") from error
    try:
        held = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not valid TOML or JSON: {error}") from error
    try:
        return arguments_of(held)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from error


def arguments_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain settings as arguments of a manager. Raises `ConfigurationError` as `read_options` does."""
    for name in settings:
        if name not in NAMES:
            raise ConfigurationError(
                f"`{name:.60}` is not an option that a file may hold; known are {', '.join(NAMES)}"
            )
    return {name: _argument(name, value) for name, value in settings.items()}


def _argument(name: str, value: Any) -> Any:
    if name not in GROUPS or not isinstance(value, Mapping):
        return value
    group = GROUPS[name]
    known = [field.name for field in fields(group)]
    for key in value:
        if key not in known:
            raise ConfigurationError(f"unknown option `{name}.{key}`; known are {', '.join(known)}")
    return group(**{key: tuple(each) if isinstance(each, list) else each for key, each in value.items()})


def as_toml(settings: Mapping[str, Any]) -> str:
    """Return plain settings as TOML: first the values, then a table for each group."""
    plain = {name: value for name, value in settings.items() if not isinstance(value, Mapping)}
    lines = [f"{name} = {_toml(value)}" for name, value in plain.items()]
    for name, group in settings.items():
        if isinstance(group, Mapping):
            lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in group.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _toml(value: Any) -> str:
    return "inf" if value == math.inf else json.dumps(value, ensure_ascii=False)


def as_python(settings: Mapping[str, Any]) -> str:
    """Return plain settings as a call of `ContextManager` with its import."""
    groups = [GROUPS[name].__name__ for name, value in settings.items() if isinstance(value, Mapping)]
    lines = [f"    {name}={_literal(name, value)}," for name, value in settings.items()]
    imported = ", ".join(["ContextManager", *sorted(groups)])
    return "\n".join([f"from backscroll import {imported}", "", "context = ContextManager(", *lines, ")"]) + "\n"


def _literal(name: str, value: Any) -> str:
    if not isinstance(value, Mapping):
        return 'float("inf")' if value == math.inf else json.dumps(value) if isinstance(value, str) else repr(value)
    return f"{GROUPS[name].__name__}({', '.join(f'{key}={_literal(key, each)}' for key, each in value.items())})"
