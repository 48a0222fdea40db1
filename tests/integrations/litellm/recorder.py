"""A client in place of LiteLLM itself: it keeps what it was sent, and answers as LiteLLM does."""

from typing import Any

import litellm


class Recorder:
    """Has `acompletion` and `completion`, as LiteLLM and its Router have. `errors` are raised one after the other."""

    def __init__(self, *errors: Exception) -> None:
        self.calls: list[dict[str, Any]] = []
        self.errors = list(errors)

    @property
    def sent(self) -> list[Any]:
        """The messages of the newest request."""
        return self.calls[-1]["messages"]

    def completion(self, **call: Any) -> Any:
        self.calls.append(call)
        if self.errors:
            raise self.errors.pop(0)
        return litellm.ModelResponse(choices=[{"message": {"role": "assistant", "content": "Fine."}}])

    async def acompletion(self, **call: Any) -> Any:
        return self.completion(**call)


def turns(number: int, *, size: int = 40, begin: int = 0) -> list[dict[str, Any]]:
    """So many calls of a tool and their results, after one question."""
    found: list[dict[str, Any]] = [{"role": "user", "content": "Begin."}] if begin == 0 else []
    for at in range(begin, begin + number):
        function = {"name": "order", "arguments": f'{{"number": {at}}}'}
        found.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{at}", "type": "function", "function": function}],
            }
        )
        found.append({"role": "tool", "tool_call_id": f"c{at}", "content": f"line of result {at}\n" * size})
    return found
