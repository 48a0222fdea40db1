"""Amplifier's messages: those of chat completions, with blocks as well.

Each call is written twice, under `tool_calls` with its name under `tool`, and as a block `tool_call`. A block
`tool_result` names its call under `tool_call_id` and has an `output`. Source: the message models of amplifier-core 2.0.
"""

from typing import Any

from backscroll.messages.dialects.blocks import cleaned, id_of, read_call, with_object
from backscroll.messages.dialects.dialect import Dialect, Heal
from backscroll.messages.parts import Block, CallId, Inner, Part, Path, compact


def _tool_call(block: Block, path: Path, answers: CallId | None, inner: Inner) -> list[Part]:
    return read_call(block, path, id_of(block.get("id")))


def _thinking_block(block: Any) -> list[Part]:
    return [Part("reasoning", ("thinking_block",), compact(block), "fixed")] if type(block) is dict else []


def _object_input(call: Block) -> Block:
    return with_object(call, "input") if "input" in call else call


AMPLIFIER = Dialect(
    name="Amplifier",
    blocks={"tool_call": _tool_call},
    fields={"thinking_block": _thinking_block},
    carriers=("thinking_block",),
    reasoning_fields=frozenset(("thinking_block",)),
    heals=(Heal("cut_arguments", ("tool_call",), _object_input),),
    sendable=cleaned,
)
