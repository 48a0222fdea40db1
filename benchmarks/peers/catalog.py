"""Who is measured, in the order of the tables. Nobody is imported before asked for."""

from importlib import import_module
from importlib.metadata import version

from peers.base import Keeper, Peer

PEERS = {
    "ours": "peers.ours:InMemory",
    "ours-sqlite": "peers.ours:OnDisk",
    "contract": "peers.contract:Contract",
    "strands-window": "peers.strands:SlidingWindow",
    "strands-auto": "peers.strands:Auto",
    "langchain-trim": "peers.langchain:Trim",
    "langchain-clear": "peers.langchain:Clear",
    "langchain-summary": "peers.langchain:Summarize",
    "agents-whole": "peers.openai_agents:Whole",
    "agents-limit": "peers.openai_agents:Limited",
    "framework": "peers.agent_framework:Window",
    "pydantic": "peers.pydantic_ai:Processor",
}
JUDGED = {
    "strands-auto": "peers.strands:AutoExactly",
    "langchain-trim": "peers.langchain:TrimExactly",
    "langchain-clear": "peers.langchain:ClearExactly",
    "langchain-summary": "peers.langchain:SummarizeExactly",
}
"""As they are set up where it is their views that are judged and not their speed: with exact counts, and summaries made
of what they are given (`stand_in.py`).
"""
FURTHER = {
    "ours-fuller": "peers.ours:Fuller",
    "strands-auto-lines": "peers.strands:AutoLines",
    "langchain-summary-lines": "peers.langchain:SummarizeLines",
    "whole": "peers.whole:Whole",
}
"""Whose views are judged and whose costs are not: other settings, and everything, whatever it weighs."""
SHIPPED = (
    "ours", "langchain-trim", "strands-window", "langchain-clear", "strands-auto", "langchain-summary", "contract",
    "whole",
)  # fmt: skip
"""Whose views are judged with the settings that they ship, in the order of the tables."""
CONTENDERS = ("ours", "ours-fuller", *SHIPPED[1:])
"""The same, and ours with a setting by which views are fuller."""
KEEPERS = {
    "ours-full": "peers.ours:Full",
    "ours-normal": "peers.ours:Normal",
    "strands-files": "peers.strands:Files",
    "langgraph": "peers.langchain:Checkpoints",
    "agents-session": "peers.openai_agents:Session",
    "framework-file": "peers.agent_framework:History",
    "pydantic-json": "peers.pydantic_ai:Json",
}


def peer(known: str, judged: bool = False) -> type[Peer]:
    """The class of one peer. `judged`: as it is set up where its views are judged."""
    return _load({**PEERS, **FURTHER, **(JUDGED if judged else {})}[known])


def keeper(known: str) -> type[Keeper]:
    """The class of one way of keeping."""
    return _load(KEEPERS[known])


def _load(where: str) -> type:
    module, _, name = where.partition(":")
    found: type = getattr(import_module(module), name)
    return found


def versions(classes: list[type[Peer] | type[Keeper]]) -> dict[str, str]:
    """What is installed of each package."""
    return {one.package: version(one.package) for one in classes}
