"""What differs between Claude models: who runs the prefix check, who reads whose thinking, minimum sizes, windows.

Sources: "Preserved thinking", "What's new in Claude Fable 5.2", "What's new in Sonnet 5.5", "Haiku 5.5 migration
guide", "Prompt caching" and "Mid-conversation system messages" (Claude Platform Docs), and "Preserved thinking" in the
Amazon Bedrock user guide.
"""

import re
from dataclasses import dataclass

FIRST_BOUND_DAY = "2026-08-31"
"""Accounts created from this day on, 00:00 UTC, run the check by default."""

_EARLIER = frozenset({
    "fable-5", "mythos-5", "opus-5", "sonnet-5", "opus-4-8", "opus-4-7", "opus-4-6", "sonnet-4-6", "opus-4-5",
    "sonnet-4-5", "haiku-4-5", "opus-4-1",
})  # fmt: skip
_MILLION = 1_000_000


@dataclass(frozen=True)
class ClaudeModel:
    """One row of the table."""

    name: str
    """The id without `claude-` and without a date."""
    reads: frozenset[str]
    """Models whose thinking it reads. Other thinking is dropped without an error."""
    checks: bool = False
    """Whether it compares the prefix of each thinking block."""
    every_account: bool = False
    """Whether it refuses a mismatch by default on accounts of any age."""
    account_bound: bool = False
    """Whether its thinking works only in the account that produced it."""
    minimum: int = 512
    """Tokens that a prefix needs to be cached."""
    window: int = _MILLION
    can_disable_thinking: bool = True
    appends_system: bool = True
    """Whether `messages` may hold the role `system`."""
    compacts: bool = True
    """Whether it compacts on demand."""
    refuses_prefill: bool = True
    keeps_thinking: bool = True
    """Whether the thinking of earlier turns stays in the prompt."""


def _own(name: str, reads: set[str] | frozenset[str] = frozenset(), **facts: bool | int) -> ClaudeModel:
    return ClaudeModel(name, frozenset({name, *reads}), **facts)  # type: ignore[arg-type] # facts are named in the rows


_PAIR = {"fable-5-1", "mythos-5-1"}
_NEWEST = {"fable-5-2", "mythos-5-2"}
_ROWS = (
    *(_own(name, _NEWEST, checks=True, every_account=True, can_disable_thinking=False) for name in sorted(_NEWEST)),
    *(
        _own(
            name,
            _PAIR | _EARLIER | {"opus-5-5", "haiku-5-5"},
            checks=True,
            every_account=name == "mythos-5-1",
            can_disable_thinking=False,
        )
        for name in sorted(_PAIR)
    ),
    _own("opus-5-5", _EARLIER | {"sonnet-5-5", "haiku-5-5"}, checks=True, can_disable_thinking=False),
    _own(
        "sonnet-5-5",
        _EARLIER - {"opus-5", "fable-5", "mythos-5"} | {"haiku-5-5"},
        checks=True,
        account_bound=True,
        can_disable_thinking=False,
    ),
    _own("haiku-5-5", checks=True, account_bound=True),
    _own("fable-5", _EARLIER, can_disable_thinking=False),
    _own("mythos-5", _EARLIER, can_disable_thinking=False),
    _own("opus-5", _EARLIER),
    _own("sonnet-5", _EARLIER, minimum=1024, appends_system=False),
    _own("opus-4-8", _EARLIER, minimum=1024),
    _own("opus-4-7", _EARLIER, minimum=2048, appends_system=False),
    _own("opus-4-6", _EARLIER, minimum=4096, appends_system=False),
    _own("sonnet-4-6", _EARLIER, minimum=1024, appends_system=False),
    *(
        _own(
            name,
            _EARLIER,
            minimum=minimum,
            window=200_000,
            appends_system=False,
            compacts=False,
            refuses_prefill=False,
            keeps_thinking=name == "opus-4-5",
        )
        for name, minimum in (("opus-4-5", 4096), ("sonnet-4-5", 1024), ("haiku-4-5", 4096), ("opus-4-1", 1024))
    ),
)
MODELS = {row.name: row for row in _ROWS}
"""All models by name."""

_ID = re.compile(r"claude-([a-z]+-\d+(?:-\d)?)(?:[-@]20\d{6}|-latest)?")


def find_model(known: str) -> ClaudeModel | None:
    """Return the row of a model id, with or without a date; `None` for an unknown one."""
    found = _ID.fullmatch(known)
    return MODELS.get(found[1]) if found else None


def enforcement(model: ClaudeModel, *, account_created: str, setting: str | None, batch: bool) -> str:
    """Return what a mismatch leads to: `error`, `drop_block`, `off` (allowed and reported) or `never` (not compared).

    Args:
        model: The model of the request.
        account_created: The day on which the account was created, as `YYYY-MM-DD`.
        setting: `thinking.block_binding.prefix_mismatch_behavior`; `None`: unset.
        batch: Whether the request is an item of the Message Batches API, which drops by default.
    """
    if not model.checks:
        return "never"
    if setting is not None:
        return setting
    if batch:
        return "drop_block"
    return "error" if model.every_account or account_created >= FIRST_BOUND_DAY else "off"
