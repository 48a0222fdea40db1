"""What the arguments of a call say: its conversation, its tools, whether it can be managed, and who counts it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from backscroll.errors import ConfigurationError

_KEPT_BY_THE_PROVIDER = ("previous_response_id", "conversation")
_REWRITES = {
    "context_management": "the provider would edit the context that Backscroll manages: leave `context_management` out",
    "transforms": "OpenRouter would cut the middle out of each request: leave `transforms` out",
    "truncation": "the provider would drop messages on its own: leave `truncation` out",
}
"""Arguments that let a provider shorten requests, and why each is refused."""
_HARMLESS: tuple[Any, ...] = (None, [], "disabled")


def is_managed(call: Mapping[str, Any]) -> bool:
    """Return whether the messages of a call are a whole history.

    They are not where the provider keeps it, or where a callback of LiteLLM sends a request of its own.

    Raises:
        ConfigurationError: The provider would shorten the request as well.
    """
    given = _with_extra_body(call)
    for name, reason in _REWRITES.items():
        if given.get(name) not in _HARMLESS:
            raise ConfigurationError(reason)
    if any(given.get(name) for name in _KEPT_BY_THE_PROVIDER):
        return False
    return not call.get("_agentic_loop_depth")


def is_counted(call: Mapping[str, Any]) -> bool:
    """Return whether the provider counts the tokens of a call. If it does not, LiteLLM estimates them."""
    asked = (call.get("stream_options") or {}).get("include_usage")
    return not call.get("mock_response") and bool(asked or not call.get("stream"))


def conversation_key(call: Mapping[str, Any]) -> str | None:
    """Return the key of a call's conversation; `None` if it names none.

    It is `litellm_session_id`, else `session_id` of the metadata, with its `agent_name`. In LiteLLM's proxy, callers
    choose both; so the hash of their API key comes before it.
    """
    metadata: dict[str, Any] = {}
    for name in ("litellm_metadata", "metadata"):
        found = call.get(name)
        metadata |= found if isinstance(found, Mapping) else {}
    session = call.get("litellm_session_id") or metadata.get("session_id")
    if not session:
        return None
    return key_of(session, metadata.get("agent_name"), metadata.get("user_api_key_hash"))


def key_of(session: object, agent: object = None, owner: object = None) -> str:
    """Return the key of a session, of an agent in it, of an API key's owner."""
    key = _quoted(session) if agent is None else f"{_quoted(session)}/{_quoted(agent)}"
    return key if owner is None else f"{_quoted(owner)}:{key}"


def tools_of(call: Mapping[str, Any]) -> Any:
    """Return all that a call defines outside its messages, in the shape of tools."""
    tools = call.get("tools")
    extra = [{"type": "function", "function": each} for each in call.get("functions") or ()]
    schema = _schema_of(call.get("response_format"))
    if schema is not None:
        extra.append({"type": "function", "function": {"name": "response_format", "parameters": schema}})
    return [*(tools or ()), *extra] if extra else tools


def _schema_of(answer_format: Any) -> Any:
    if isinstance(answer_format, type) and hasattr(answer_format, "model_json_schema"):
        return answer_format.model_json_schema()
    return answer_format.get("json_schema") if isinstance(answer_format, Mapping) else None


def _with_extra_body(call: Mapping[str, Any]) -> Mapping[str, Any]:
    more = call.get("extra_body")
    return {**call, **more} if isinstance(more, Mapping) else call


def _quoted(part: object) -> str:
    return quote(str(part), safe=" @+,;=|#$!()", errors="surrogatepass")
