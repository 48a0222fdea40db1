"""At how many tokens a client takes a window for full: it compacts by itself before, also where the model takes more.

Read from the packages of the npm registry that `source` names. Clients that take the windows of a public table, such as
OpenCode, and clients that send the user agent of a library need no row.
"""

import re
from typing import NamedTuple


class ClientLimit(NamedTuple):
    """What one client counts on for some models."""

    client: str
    """Its name, as its users know it."""
    agent: str
    """Expression that its user agent begins with, in lower case."""
    model: str
    """Expression that the names of the models begin with, in lower case and without a provider."""
    tokens: int
    source: str
    """The package and what it says."""
    read_on: str


_CLAUDE, _CODEX, _QWEN = r"claude-cli/", r"codex[_ -]", r"qwencode/"
_CLAUDE_SOURCE = "@anthropic-ai/claude-code 2.1.197: each model, where the base URL is not Anthropic's, without [1m]"
_CODEX_SOURCE = "@openai/codex 0.171.0: 95 percent of `context_window` in its table of models"
_QWEN_SOURCE = "@qwen-code/qwen-code 0.15.10: tokenLimits.ts"
_DAY = "2026-11-27"

_ANY = ""
_QWEN_MODELS = (
    (r"qwen3-coder-(plus|flash)|qwen3\.\d|qwen-(plus|flash)-latest|coder-model|gemini-|deepseek-v4", 1_000_000),
    (r"seed-oss", 524_288),
    (r"gpt-5", 272_000),
    (r"qwen|kimi-", 262_144),
    (r"glm-", 202_752),
    (r"minimax-m2\.5", 196_608),
    (r"minimax-|claude-|o\d", 200_000),
    (_ANY, 131_072),
)

CLIENT_LIMITS = (
    ClientLimit("Claude Code", _CLAUDE, _ANY, 200_000, _CLAUDE_SOURCE, _DAY),
    ClientLimit("Codex", _CODEX, r"gpt-6\.2-sol|gpt-6\.1-(sol|terra)", 475_000, _CODEX_SOURCE, _DAY),
    ClientLimit("Codex", _CODEX, r"gpt-daybreak-red", 353_400, _CODEX_SOURCE, _DAY),
    ClientLimit("Codex", _CODEX, _ANY, 258_400, _CODEX_SOURCE, _DAY),
    *(ClientLimit("Qwen Code", _QWEN, model, tokens, _QWEN_SOURCE, _DAY) for model, tokens in _QWEN_MODELS),
)
"""The first row that fits holds."""


def limit_of(agent: str, model: str) -> ClientLimit | None:
    """Return what a client counts on; `None` for a client that the table does not know.

    Args:
        agent: Its user agent.
        model: The name of the model, as the request spells it.
    """
    agent, model = agent.lower(), model.rsplit("/", 1)[-1].lower()
    return next((row for row in CLIENT_LIMITS if re.match(row.agent, agent) and re.match(row.model, model)), None)
