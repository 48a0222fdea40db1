"""The tools of a request: counted once, compared with those of the request before."""

from math import ceil
from typing import Any

from backscroll import events
from backscroll.compaction.lane_state import LaneState
from backscroll.history.log import ToolsOffered
from backscroll.messages.tools import ToolTexts, read_tools
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState
from backscroll.tokens.known_models import find_model
from backscroll.tokens.usage import estimate_count

NONE_OFFERED = ToolsOffered("", ())


def offer_tools(state: SessionState, lane: LaneState, tools: Any) -> Operation[None]:
    """Note the tools of the lane's next request. `None`: it has none.

    A provider puts them before all messages, so a change invalidates all reasoning that is bound to what precedes it.

    Raises:
        ConfigurationError: They are in no known shape.
    """
    read = None if tools is None else read_tools(tools)
    digest = read.digest if read is not None and read.texts else ""
    before = lane.tools or NONE_OFFERED
    if digest == before.digest:
        _weigh_for_lane(state, lane)
        return
    offered = NONE_OFFERED
    if read is not None and digest:
        offered = yield Ask(_counted, (state, lane, read), heavy=not state.measured)
    lane.offer(offered)
    if not lane.requested:
        return
    lane.invalidate(0, state.history.last_sealed)
    assert lane.tools is not None
    old, new = dict(before.tools), dict(lane.tools.tools)
    payload = {"lane": lane.name, "tools": len(lane.tools.tools), "tokens": lane.tools.tokens}
    payload |= {"added": sorted(new.keys() - old.keys()), "removed": sorted(old.keys() - new.keys())}
    state.pending_notifications.append((events.TOOLS_CHANGED, payload))


def _counted(state: SessionState, lane: LaneState, read: ToolTexts) -> ToolsOffered:
    """Count tools, each once for a lane."""
    count, family = state.config.count, lane.family
    tools = tuple([(name, ceil(estimate_count(count(text), family)[0])) for name, text in read.texts])
    return ToolsOffered(read.digest, tools, _prompt_of(state, lane))


def _prompt_of(state: SessionState, lane: LaneState) -> int:
    found = find_model(state.config.model(lane.name))
    return 0 if found is None else found.tool_prompt


def _weigh_for_lane(state: SessionState, lane: LaneState) -> None:
    """Give tools that a new lane got from another one what its own model's provider adds to them."""
    if lane.tools is not None and lane.tools.digest and lane.recorded_tools is None:
        lane.offer(lane.tools._replace(prompt=_prompt_of(state, lane)))
