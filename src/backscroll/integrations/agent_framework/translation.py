"""Messages of the framework as messages of Anthropic's dialect, and back."""

from collections.abc import Sequence
from copy import copy

from agent_framework import Content
from agent_framework import Message as Native

from backscroll.integrations.agent_framework.contents import to_blocks, to_contents
from backscroll.integrations.agent_framework.media import Block
from backscroll.integrations.translation import Translation
from backscroll.messages import Message


class AgentFrameworkTranslation(Translation[Native]):
    """Messages of Agent Framework. A message of the role `tool` is one of the user with blocks of results."""

    def to_message(self, native: Native) -> Message:
        """Return the message with one block a content."""
        role = "user" if native.role == "tool" else native.role
        return {"role": role, "content": to_blocks(native.contents, native.role)}

    def to_native(self, message: Message, natives: Sequence[Native]) -> Native:
        """Return a copy of the first of these with the contents that the view shows; a new message for none."""
        contents: list[Content] = [content for native in natives for content in native.contents]
        own: list[Block] = [block for native in natives for block in self.to_message(native)["content"]]
        shown = to_contents(message["content"], contents, own)
        if not natives:
            return Native(_role(message, shown), shown)
        made = copy(natives[0])
        made.contents = shown
        if made.role == "tool" and _results_in(shown) < _results_in(contents):
            made.role = "user"  # a late result is text, which no client sends under the role of results
        made.additional_properties = dict(made.additional_properties)
        made.raw_representation = None  # it says what the view changed
        return made


def _results_in(contents: Sequence[Content]) -> int:
    return sum(content.type == "function_result" for content in contents)


def _role(message: Message, contents: Sequence[Content]) -> str:
    if _results_in(contents):
        return "tool"
    return str(message["role"])
