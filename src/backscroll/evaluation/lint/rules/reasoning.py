"""`stale-reasoning` and `missing-reasoning`: signed or encrypted reasoning that its provider refuses or drops.

Sources: "Preserved thinking" of Anthropic and "Preserved reasoning" of OpenAI (reasoning holds only behind the prefix
it was made for; what is left out of it must be the oldest), "Thinking" of Anthropic (manual mode), "Thought signatures"
of Gemini, and reports on DeepSeek V4 (`reasoning_content` in a tool loop).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule, Severity
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request
from backscroll.evaluation.lint.same import blocks_of, key
from backscroll.evaluation.lint.talk import Step, Talk
from backscroll.messages import read_message
from backscroll.tokens.known_models import binds_reasoning

_THINKING = ("thinking", "redacted_thinking")
_SEALS = ("signature", "data", "encrypted_content")
_GEMINI = re.compile(r"gemini-(\d+)")
_SIGNED = ("thoughtSignature", "thought_signature")
_CALLS = ("functionCall", "function_call")


class _Sealed(NamedTuple):
    """One block of reasoning of a request, and what precedes it."""

    where: str
    seal: str
    prefix: str
    """The hash of everything before it but reasoning."""
    before: tuple[str, ...]
    """The seals before it."""


def _stale(talk: Talk, costs: Costs) -> Iterator[Found]:
    minted: dict[str, _Sealed] = {}
    stale: dict[str, tuple[Place, int]] = {}
    ends: dict[int, _Sealed] = {}
    steps = [None, *talk.steps]
    for request, step in zip(talk.requests, steps, strict=False):
        if binds_reasoning(request.model) is False or request.begins_elsewhere or not request.known:
            return
        *blocks, ends[request.number] = _sealed(request)
        for block in blocks:
            if block.seal not in minted:
                minted[block.seal] = block if step is None or step.appends else _made_for(step, block, ends)
            made = minted[block.seal]
            if made.prefix and not _holds(made, block):
                place, count = stale.get(block.seal, (Place(block.where, request.number), 0))
                stale[block.seal] = (place, count + 1)
    if stale:
        place, _ = next(iter(stale.values()))
        request = next(each for each in talk.requests if each.number == place.request)
        what = f"{_blocks(len(stale))} of reasoning behind an edit that was made later: {_effect(request)}"
        yield Found(place, what, count=len(stale), severity=_severity(request))


def _made_for(step: Step, block: _Sealed, ends: Mapping[int, _Sealed]) -> _Sealed:
    """Return what new reasoning was made behind where its request edits the one before: all of that one, if the
    reasoning is the first thing behind the last message of it.
    """
    at = _end_of(step)
    behind = "" if at is None else f"{step.after.list_name}[{at + 1}]"
    return ends[step.before.number] if block.where in (behind, f"{behind}.content[0]") else _UNKNOWN


def _end_of(step: Step) -> int | None:
    """Return where the later request has the last message of the earlier one: as it was, or with its results edited."""
    before, after = step.before.message_keys, step.after.message_keys
    if before and before[-1] in after:
        return len(after) - 1 - after[::-1].index(before[-1])
    if not before or step.shared != len(before) - 1 or len(after) <= len(before):
        return None
    old, new = (read_message(request.messages[step.shared]).results for request in (step.before, step.after))
    return step.shared if old and old == new else None


def _holds(made: _Sealed, now: _Sealed) -> bool:
    """Return whether reasoning is still behind its prefix, with the newest of the reasoning it was made behind."""
    kept = len(now.before)
    return (
        made.prefix == now.prefix and kept <= len(made.before) and made.before[len(made.before) - kept :] == now.before
    )


_UNKNOWN = _Sealed("", "", "", ())


def _sealed(request: Request) -> list[_Sealed]:
    """Return the reasoning of a request, and last what reasoning of its answer would be; only an unknown one where the
    provider's own compaction restarts the check.
    """
    blocks = list(_blocks_of(request))
    if any(isinstance(block, dict) and block.get("type") == "compaction" for _, _, block in blocks):
        return [_UNKNOWN]
    head: list[Any] = [request.tool_keys]
    text = request.body.get("text")
    head.append(
        request.system_key if request.shape != "responses" else text.get("format") if isinstance(text, dict) else None
    )
    digest = sha256(key(head).encode())
    seen: list[str] = []
    found = []
    for where, role, block in blocks:
        seal = _seal(block)
        if seal is None:
            digest.update(key([role, block]).encode())
        else:
            found.append(_Sealed(where, seal, digest.hexdigest(), tuple(seen)))
            seen.append(seal)
    return [*found, _Sealed("", "", digest.hexdigest(), tuple(seen))]


def _blocks_of(request: Request) -> Iterator[tuple[str, str, Any]]:
    for at, message in enumerate(request.messages):
        where = f"{request.list_name}[{at}]"
        if "role" not in message:
            yield where, "", message
            continue
        for number, block in enumerate(blocks_of(message.get("content"))):
            yield f"{where}.content[{number}]", str(message["role"]), block


def _seal(block: Any) -> str | None:
    if not isinstance(block, dict) or block.get("type") not in (*_THINKING, "reasoning"):
        return None
    return next((block[name] for name in _SEALS if isinstance(block.get(name), str) and block[name]), None)


def _effect(request: Request) -> str:
    setting = _setting(request)
    if request.shape == "responses" or setting == "drop_block":
        return "the provider drops it"
    return "the provider refuses the request" if binds_reasoning(request.model) else "newer models refuse the request"


def _severity(request: Request) -> Severity:
    refused = request.shape != "responses" and _setting(request) != "drop_block" and binds_reasoning(request.model)
    return "error" if refused else "warning"


def _setting(request: Request) -> Any:
    thinking = request.body.get("thinking")
    binding = thinking.get("block_binding") if isinstance(thinking, dict) else None
    return binding.get("prefix_mismatch_behavior") if isinstance(binding, dict) else None


def _blocks(count: int) -> str:
    return f"{count:,} block{'' if count == 1 else 's'}"


def _missing(talk: Talk, costs: Costs) -> Iterator[Found]:
    found: dict[str, tuple[Place, int]] = {}
    for request in talk.requests:
        checks = (_unsigned, _unthought, _unfollowed, _unbegun)
        for where, what in (each for check in checks for each in check(request)):
            place, count = found.get(what, (Place(where, request.number), 0))
            found[what] = (place, count + 1)
    for what, (place, count) in found.items():
        yield Found(place, what, count=count)


def _unsigned(request: Request) -> Iterator[tuple[str, str]]:
    """Check the first call of each content of the current turn, from Gemini 3 on."""
    version = _GEMINI.search(request.model or "")
    if request.shape != "gemini" or version is None or int(version[1]) < 3:
        return
    for at in _turn(request.messages):
        parts = request.messages[at].get("parts")
        calls = [part for part in blocks_of(parts) if isinstance(part, dict) and any(part.get(name) for name in _CALLS)]
        if calls and not any(calls[0].get(name) for name in _SIGNED):
            yield f"contents[{at}]", "the first call of a content of the current turn has no `thoughtSignature`"


def _turn(contents: Sequence[dict[str, Any]]) -> range:
    """Return the contents since the last one of the user that is no response of a function."""
    for at in range(len(contents) - 1, -1, -1):
        parts = [part for part in blocks_of(contents[at].get("parts")) if isinstance(part, dict)]
        if contents[at].get("role", "user") == "user" and any("text" in part for part in parts):
            return range(at + 1, len(contents))
    return range(len(contents))


def _unthought(request: Request) -> Iterator[tuple[str, str]]:
    """Check the calls since the last message of the user, for DeepSeek V4 with thinking on."""
    thinking = request.body.get("thinking")
    off = isinstance(thinking, dict) and thinking.get("type") == "disabled"
    if request.shape != "chat" or off or not re.search(r"deepseek-v4", request.model or ""):
        return
    for at in range(len(request.messages) - 1, -1, -1):
        message = request.messages[at]
        if message.get("role") == "user":
            return
        if message.get("tool_calls") and message.get("reasoning_content") is None:
            yield f"messages[{at}]", "an assistant message with calls has no `reasoning_content` in a tool loop"


def _unfollowed(request: Request) -> Iterator[tuple[str, str]]:
    """Check that an item of reasoning is followed by what it led to."""
    if request.shape != "responses" or request.begins_elsewhere:
        return
    for at, item in enumerate(request.messages):
        after = request.messages[at + 1] if at + 1 < len(request.messages) else {}
        led = after.get("role") == "assistant" or (
            "role" not in after and not str(after.get("type")).endswith("_output")
        )
        if item.get("type") == "reasoning" and not (after and led):
            yield f"input[{at}]", "an item of reasoning without the item that followed it"


def _unbegun(request: Request) -> Iterator[tuple[str, str]]:
    """Check that an open tool round of Anthropic's manual thinking begins with thinking."""
    thinking = request.body.get("thinking")
    if request.shape != "anthropic" or not isinstance(thinking, dict) or thinking.get("type") != "enabled":
        return
    at = next((at for at in range(len(request.messages) - 1, -1, -1) if _is_assistant(request, at)), -1)
    if at < 0 or at + 1 >= len(request.messages):
        return
    first, answer = (blocks_of(request.messages[index].get("content"))[:1] for index in (at, at + 1))
    opened = isinstance(answer[0], dict) and answer[0].get("type") == "tool_result" if answer else False
    if opened and first and isinstance(first[0], dict) and first[0].get("type") not in _THINKING:
        yield f"messages[{at}].content[0]", "the message of an open tool round does not begin with thinking"


def _is_assistant(request: Request, at: int) -> bool:
    earlier = at and request.messages[at - 1].get("role") == "assistant"
    return request.messages[at].get("role") == "assistant" and not earlier


RULES = (
    Rule(
        "stale-reasoning",
        "error",
        "Take all reasoning out that was made before the edit, or edit nothing that precedes it.",
        _stale,
    ),
    Rule(
        "missing-reasoning",
        "error",
        "Send reasoning and signatures back where the provider put them.",
        _missing,
        ("reasoning_alone",),
    ),
)
