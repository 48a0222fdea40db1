"""The prefix of every block of a request, as "Preserved thinking" (Claude Platform Docs) defines it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.anthropic_compaction import Compactions
from backscroll.evaluation.fake_providers.anthropic_request import THINKING, AnthropicRequest, Place
from backscroll.evaluation.fake_providers.chain import PrefixChain, canonical, fingerprint


class Step(NamedTuple):
    """A block that the API reads, with the hash over what precedes it."""

    place: Place
    prefix: str


def start_of(request: AnthropicRequest) -> str:
    """Return the hash over `system` and the tools that are not deferred. A change of these hurts every block."""
    offered = [tool for tool in request.tools if not tool.get("defer_loading")]
    return fingerprint(canonical(request.system), canonical(offered))


def first_read(request: AnthropicRequest) -> tuple[int, int]:
    """Return message and block of the newest threshold block, before which the API ignores everything; else (0, 0)."""
    read = (0, 0)
    for place in request.places():
        if place.kind == "compaction" and not place.content.get("signature") and place.content.get("content"):
            read = (place.message, place.block)
    return read


class PrefixWalk:
    """One pass over a request. `end` is the hash over all of it, to which a reply is appended."""

    def __init__(self, request: AnthropicRequest, compactions: Compactions) -> None:
        self._request = request
        self._compactions = compactions
        self._chain = PrefixChain(start_of(request))
        self.steps: list[Step] = list(self._steps())

    @property
    def end(self) -> str:
        """The hash over all messages."""
        return self._chain.value

    def _steps(self) -> Iterator[Step]:
        first = first_read(self._request)
        begun = -1
        for place in self._request.places():
            if (place.message, place.block) < first:
                continue
            if place.message != begun:
                begun = place.message
                self._chain.begin(place.role, self._request.extras(begun))
            yield Step(place, self._chain.value)
            if place.kind == "compaction":
                self._swap(place)
            elif place.kind not in THINKING:
                self._chain.add(place.content, self._request.definition(place.content))

    def _swap(self, place: Place) -> None:
        """Let an on-demand block replace what it summarizes, or begin a new chain ("Keep recent turns")."""
        if not place.content.get("content"):
            return  # a compaction that failed is no operation
        start = start_of(self._request)
        record = self._compactions.record(place.content)
        if record is None:
            self._chain = PrefixChain(fingerprint(start, canonical(place.content)))
            self._chain.begin(place.role)
            return
        following = self._next_role(place)
        joins = following not in (record.last_role, "system")
        if record.preserves and record.start == start and joins:
            self._chain = PrefixChain(record.end)
        else:
            self._chain = PrefixChain(fingerprint(start, record.text))
        self._chain.begin(place.role)

    def _next_role(self, place: Place) -> str | None:
        if place.block + 1 < len(self._request.blocks[place.message]):
            return place.role
        following = place.message + 1
        return self._request.role(following) if following < len(self._request.messages) else None


def continue_with(prefix: str, content: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the hash before each block of a reply, as the next request will compute it."""
    chain = PrefixChain(prefix)
    chain.begin("assistant")
    for block in content:
        yield chain.value
        if block["type"] not in THINKING:
            chain.add(block)
