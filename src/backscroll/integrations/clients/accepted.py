"""Which messages of a view a provider's API takes.

A view is in the dialect of its messages. Nothing is converted here: a message that another provider's client made is
refused with an error that names it, before the provider refuses the request with one that does not.
"""

from collections.abc import Iterator, Mapping, Sequence

from backscroll.errors import ConfigurationError
from backscroll.messages import SYSTEM_ROLES, Message
from backscroll.messages.dialects import DIALECTS
from backscroll.messages.dialects.dialect import Taken

_ROLES = frozenset((*SYSTEM_ROLES, "user", "assistant"))
_BLOCKS = frozenset[str]().union(*[each.taken.blocks for each in DIALECTS])
_KEYS = frozenset[str]().union(*[each.taken.keys for each in DIALECTS])


def without_metadata(view: Sequence[Message], api: Taken, *, apart: int = 0) -> list[Message]:
    """Return the messages of a view for a request, without `metadata`, which no provider takes.

    Args:
        view: The view.
        api: What the API takes: `taken` of its dialect.
        apart: How many system messages at its beginning are sent apart, so that they may have any shape.

    Raises:
        ConfigurationError: A message is in the dialect of another API.
    """
    if not isinstance(view, Sequence) or isinstance(view, str) or not all(isinstance(each, Mapping) for each in view):
        hint = ": await it first" if hasattr(view, "__await__") else ""
        raise ConfigurationError(
            f"`view` must be the list that `get_messages_for_request` returns, not {view!r:.60}{hint}"
        )
    for at, message in enumerate(view):
        if at >= apart and (found := next(_foreign(message, api), None)):
            raise ConfigurationError(
                f"view[{at}] has {found}, which {api.api} does not take: send the views of a session to the provider "
                "whose messages were appended to it, since messages are never converted"
            )
    return [
        {key: value for key, value in message.items() if key != "metadata"} if "metadata" in message else message
        for message in view
    ]


def leading_system(view: Sequence[Message]) -> int:
    """Return how many system messages a view begins with."""
    return next((at for at, message in enumerate(view) if message.get("role") not in SYSTEM_ROLES), len(view))


def _foreign(message: Message, api: Taken) -> Iterator[str]:
    """Yield what only messages of another API have."""
    role, kind, content = message.get("role"), message.get("type"), message.get("content")
    if role is not None and role not in _ROLES and role not in api.roles:
        yield f"the role {role!r:.40}"
    for key in sorted(message.keys() & _KEYS - api.keys):
        yield f"the key {key!r}"
    foreign = _BLOCKS - api.blocks
    if kind in foreign:
        yield f"the type {kind!r}"
    for block in content if type(content) is list else ():
        if type(block) is dict and "type" not in block:
            yield f"a block without `type`, with the keys {', '.join(map(repr, block))}"
        elif type(block) is dict and block["type"] in foreign:
            yield f"a block of the type {block['type']!r}"
