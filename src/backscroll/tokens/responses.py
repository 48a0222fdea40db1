"""What a provider counted for one call, read from the objects of its client.

The interfaces differ in what their figure for the prompt includes. Sources: the types of the clients openai 3.54,
anthropic 2.12 and google-genai 3.4, and botocore's model of Bedrock's Converse (1.44), read in November 2026.
"""

from backscroll.errors import ConfigurationError
from backscroll.messages.counted import Counted, get, has
from backscroll.messages.dialects import DIALECTS

_COUNTING = [each for each in DIALECTS if each.usage_keys]
_NAMES = [each.name for each in _COUNTING]
SUPPORTED = f"{', '.join(_NAMES[:-1])} and {_NAMES[-1]}"
IN_STREAMS = "it holds no count of the prompt; streams have one at their end: " + "; ".join(
    f"{each.name} {each.streams_count}" for each in _COUNTING
)
"""Why a response has no usage, and where a stream has it."""
_USAGE = frozenset(name for each in _COUNTING for name in each.usage_keys)
_HOLDERS = tuple(dict.fromkeys(name for each in _COUNTING for name in each.usage_in))
_WRAPPERS = tuple(name for each in _COUNTING for name in each.response_in)
_RESPONSES = tuple(name for each in _COUNTING for name in each.response_keys)


def read_usage(response: object) -> Counted | None:
    """Return what a provider counted for a call; None if the response has no count of its prompt.

    Args:
        response: The response of a client, an event of its stream that holds one, its usage alone, or any of these as a
            mapping.

    Raises:
        ConfigurationError: It is none of these.
    """
    usage = _usage_of(response)
    if usage is None:
        return None
    return next((counted for read in _READERS if (counted := read(usage)) is not None), None)


_READERS = (*[each.count_first_turn for each in DIALECTS], *[each.count_usage for each in DIALECTS])


def _usage_of(response: object) -> object:
    """Return the usage in a response, which may be the response itself; None if there is none yet."""
    if _is_usage(response):
        return response
    for name in _HOLDERS:
        if (found := get(response, name)) is not None:
            if not _is_usage(found):
                raise _unknown(response, f", whose {name} is {named(found)}")
            return found
    for name in _WRAPPERS:
        found = get(response, name)
        if found is not None and any(get(found, holder) is not None for holder in _HOLDERS):
            return _usage_of(found)
    if not any(has(response, name) for name in (*_HOLDERS, *_RESPONSES)):
        raise _unknown(response)
    return None


def _is_usage(value: object) -> bool:
    return any(has(value, name) for name in _USAGE)


def _unknown(response: object, more: str = "") -> ConfigurationError:
    return ConfigurationError(
        f"usage cannot be read from {named(response)}{more}: give the response of a client, or its usage, as an "
        f"object or a dict, of {SUPPORTED}; else call `observe_usage` with the figures"
    )


def named(value: object) -> str:
    """Describe the kind of an object in words."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} with the keys {', '.join(map(repr, list(value)[:8])) or 'none'}" if type(value) is dict else name
