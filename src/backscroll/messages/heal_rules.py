"""The names of what a view heals: odd messages that histories hold, and that a provider would refuse.

`messages/healing.py` heals one message, `messages/late_results.py` turns a result into text, and
`view/group_rendering.py` applies both to a group. `docs/troubleshooting/healed.md` explains each name.
"""

from typing import Literal

HealRule = Literal[
    "second_result",
    "late_result",
    "unknown_call",
    "server_pair",
    "cut_arguments",
    "empty_text",
    "lone_surrogate",
    "reasoning_alone",
    "open_call",
    "result_not_text",
    "data_twice",
]

SENT: dict[HealRule, str] = {
    "second_result": "the first result stays with its call, and this one is sent as text where it came",
    "late_result": "the call keeps its placeholder, and the result is sent as text where it came",
    "unknown_call": "the result is sent as text, since no call of the session has its id",
    "server_pair": "the half of a server tool's call and result that is alone is left out",
    "cut_arguments": "the arguments, which are not a JSON object, are sent as `{}`",
    "empty_text": "blocks without content are left out",
    "lone_surrogate": "characters that no client can encode are sent as U+FFFD",
    "reasoning_alone": "reasoning without what it led to is left out",
    "open_call": "a placeholder is sent as the result of a call that has none (`open_calls()` lists these)",
    "result_not_text": "the value is sent as JSON text",
    "data_twice": "the second copy of the same data is replaced by a few words",
}
"""What a view holds instead, by rule."""
