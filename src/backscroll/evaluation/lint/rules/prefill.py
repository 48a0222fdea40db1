"""`prefill`: a request that ends with an answer, for a model that does not go on from one.

Source: Anthropic's error "This model does not support assistant message prefill. The conversation must end with a user
message.", from Claude 4.6 on. A server's open tool call at the end is none.
"""

import re
from collections.abc import Iterator

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.same import blocks_of
from backscroll.evaluation.lint.talk import Talk

_CLAUDE = re.compile(r"claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")
_FIRST = (4, 6)


def _prefill(talk: Talk, costs: Costs) -> Iterator[Found]:
    for request in talk.requests:
        found = _CLAUDE.search(request.model or "")
        if found is None or (int(found[1]), int(found[2] or 0)) < _FIRST or not request.messages:
            continue
        last = request.messages[-1]
        kinds = [block.get("type") for block in blocks_of(last.get("content")) if isinstance(block, dict)]
        if last.get("role") == "assistant" and not {"server_tool_use", "mcp_tool_use", "tool_use"} & set(kinds):
            place = Place(f"{request.list_name}[{len(request.messages) - 1}]", request.number)
            yield Found(place, f"the request ends with an answer, which {request.model} refuses")
            return


RULES = (Rule("prefill", "error", "End the request with a message of the user.", _prefill, ("prefill",)),)
