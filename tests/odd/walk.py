"""Walk a session of odd situations, with compactions, resumes, rewinds, forks and lanes, and judge each view."""

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from backscroll import events
from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeBedrock,
    FakeGemini,
    FakeInteractions,
    FakeOpenAIChat,
    FakeOpenAIResponses,
    FakeProviderError,
)
from backscroll.evaluation.rank import rank_problems
from backscroll.evaluation.validity import problems
from backscroll.integrations.clients import interactions_request
from backscroll.manager.importing import ImportingManager
from backscroll.stores.memory import MemoryStore
from tests.fakes import count_quarter
from tests.integrations.amplifier.converters import refusals
from tests.odd.situations import Message, Situations

_WORD = re.compile(r"w\d+x")
_TOOLS = {"tools": [{"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}]}


def refusal(dialect: str, view: list[Message], **options: Any) -> str:
    """What the provider of a dialect says to a view; empty if it takes it. `options`: those of its fake."""
    sent = json.loads(json.dumps(view, ensure_ascii=False).encode("utf-8", "surrogatepass" if options else "strict"))
    system = [message for message in sent if message["role"] == "system"] if dialect != "responses" else []
    rest = [message for message in sent if message not in system]
    bare = [{key: value for key, value in message.items() if key != "metadata"} for message in rest]
    if dialect == "amplifier":
        return "; ".join(refusals(sent))
    try:
        match dialect:
            case "openai":
                FakeOpenAIChat(**options).create(messages=[*system, *bare])
            case "anthropic":
                FakeAnthropic(model="claude-opus-4-6", **options).create(messages=bare, max_tokens=100)
            case "bedrock":
                FakeBedrock(model="anthropic.claude-opus-4-6-v1:0", **options).converse(
                    messages=bare, toolConfig=_TOOLS
                )
            case "responses":
                FakeOpenAIResponses(**options).create(input=bare)
            case "gemini":
                FakeGemini(model="gemini-2.5-flash", **options).generate_content(contents=bare)
            case "interactions":
                FakeInteractions(model="gemini-2.5-flash", **options).create(**interactions_request(sent))
    except FakeProviderError as refused:
        return f"{refused.status_code} {refused.message}"
    return ""


class Walk:
    """One session, with these options."""

    def __init__(self, dialect: str, seed: int, **options: Any) -> None:
        self.options = options
        self.dialect, self.chance = dialect, Random(f"{dialect} {seed}")
        self.make = Situations(dialect, self.chance)
        self.store = MemoryStore()
        self.budget = self.chance.choice((1_500, 3_000, 20_000))
        self.context = self._opened("s")
        self.faults: list[str] = []
        self.sent: dict[str, list[Message]] = {}
        """By lane: the newest view."""
        self.heard: dict[str, int] = {}
        """By lane: events that were judged."""
        self.asked_open: dict[str, set[str]] = {}
        """By lane: calls that a request showed without their result."""
        self.rewound: set[str] = set()
        """Lanes whose newest view was of messages that are taken back."""
        self.named: list[tuple[str, dict[str, Any]]] = []
        """Events, with their payloads."""

    def _opened(self, name: str) -> ImportingManager:
        return ImportingManager(
            session=name, store=self.store, budget=self.budget, tokenizer=count_quarter,
            on_event=lambda event, payload: self.named.append((event, payload)), **self.options,
        )  # fmt: skip  # one thought

    def run(self, steps: int) -> None:
        """Take these steps, each with a view at its end or not."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.context.append(self.make.question("begin"))
            for _ in range(steps):
                self._step()
            self.request("main")
            self.context.close()

    def _step(self) -> None:
        messages = self.make.next()
        together = self.chance.random() < 0.5
        if together:
            self.context.append(*messages)
        for message in () if together else messages:
            self.context.append(message)
            if self.chance.random() < 0.3:
                self.request("main")
        moves = ("request",) * 6 + ("title", "resume", "rewind", "fork", "compact", "nothing", "nothing")
        self._move(self.chance.choice(moves))

    def _move(self, move: str) -> None:
        match move:
            case "request":
                self.request("main")
            case "title":
                self.request("title")
            case "resume":
                before = self.context.view()
                self.context.close()
                self.context = self._opened(self.context.session_id)
                if self.context.view() != before:
                    self.faults.append("a resume changed the view")
            case "rewind":
                seqs = [status.seq for status in self.context.explain()]
                self.context.rewind(seqs[-1 - self.chance.randrange(min(4, len(seqs)))])
                self.rewound = set(self.sent)
                self.asked_open.clear()
                self._forget()
            case "fork":
                other = self.context.fork(f"{self.context.session_id}+")
                self.context.close()
                self.context = other  # type: ignore[assignment]  # the next line opens it as what it is
                self.context = self._opened(other.session_id)
            case "compact":
                self.context.compact()

    def _forget(self) -> None:
        """Forget the calls that a rewind took back."""
        known = json.dumps(self.context.get_messages())
        self.make.waiting = [call.id for call in self.context.open_calls() if not call.id.startswith("nobody")]
        self.make.answered = [
            name for name in self.make.answered if f'"{name}"' in known and name not in self.make.waiting
        ]

    def request(self, lane: str) -> None:
        """Judge a view. A loop asks a model only where it has something to answer."""
        if not self._has_to_be_answered():
            self.context.append(self.make.question())
        view = self.context.get_messages_for_request(lane=lane)
        self.faults += [f"{lane}: {fault}" for fault in self._judged(view, lane)]
        self.sent[lane] = view

    def _follows_its_call(self, view: list[Message], words: list[str]) -> bool:
        """Whether the newest message is a result in time, and only what came between it and its call is behind it."""
        history = [json.dumps(message) for message in self.context.get_messages()]
        at = next((at for at, message in enumerate(view) if any(word in json.dumps(message) for word in words)), None)
        if at is None or "Later result of" in json.dumps(view[at]):
            return False
        behind = [word for message in view[at + 1 :] for word in _WORD.findall(json.dumps(message))]
        first = min((number for number, text in enumerate(history) for word in behind if f"{word} " in text), default=0)
        return len(history) - first <= 4

    def _has_to_be_answered(self) -> bool:
        newest = self.context.get_messages()[-1]
        if newest["role"] not in ("assistant", "model"):
            return True
        if "server_tool_use" in json.dumps(newest) and "_tool_result" not in json.dumps(newest):
            return True  # the provider goes on
        newest_seq = self.context.explain()[-1].seq
        return any(call.seq == newest_seq for call in self.context.open_calls())

    def _judged(self, view: list[Message], lane: str) -> Iterator[str]:
        history = self.context.get_messages()
        newest = self.context.explain()[-1].seq
        if refused := refusal(self.dialect, view):
            yield f"refused: {refused}"
        yield from self._kept(view, lane)
        evicted = {seq for name, payload in self.named if name == events.SYSTEM_EVICTED for seq in payload["seqs"]}
        seqs = [status.seq for status in self.context.explain(lane=lane)]
        yield from problems(view, history, seqs)
        yield from rank_problems(view, history, evicted=[at for at, seq in enumerate(seqs) if seq in evicted])
        text = json.dumps(view)
        if twice := [word for word, times in Counter(_WORD.findall(text)).items() if times > 1]:
            yield from self._doubled(view, twice)
        words = _WORD.findall(json.dumps(history[-1]))
        said = [message for message in view if _WORD.search(json.dumps(message)) or "[ref:" in json.dumps(message)]
        ends = json.dumps(said[-1])
        shown = any(word in ends for word in words) or f"[ref:{newest}" in ends
        if words and not shown and not self._follows_its_call(view, words):
            yield f"the newest message {words} is not the newest of the view"
        for status in self.context.explain(lane=lane):
            message = history[status_index(history, status, self.context)]
            lost = [word for word in _WORD.findall(json.dumps(message)) if word not in text]
            if lost and status.state in ("whole", "healed") and status.role in ("user", "tool"):
                yield f"words {lost} of message {status.seq} are in no view, and explain() says it is {status.state}"

    def _doubled(self, view: list[Message], words: list[str]) -> Iterator[str]:
        """Whether a result holds the same data twice."""
        for message in view:
            text = json.dumps(message)
            if "structuredContent" in text and any(text.count(word) > 1 for word in words):
                yield "a result holds the same data twice"

    def _kept(self, view: list[Message], lane: str) -> Iterator[str]:
        """Whether the view goes on from the lane's newest, or an event says why not. Healing alone is no reason."""
        heard = self.named[self.heard.get(lane, 0) :]
        moved = {name for name, payload in heard if payload.get("lane", lane) == lane}
        self.heard[lane] = len(self.named)
        for known in self.asked_open.get(lane, ()):
            others = [message for message in view if message.get("role") not in ("assistant", "model")]
            found = [json.dumps(message) for message in others if not str(message.get("type", "")).endswith("_call")]
            if any(f'"{known}"' in text and "[no result recorded" not in text for text in found):
                yield f"the result of {known} is at its call, which a request showed without it"
        self.asked_open.setdefault(lane, set()).update(call.id for call in self.context.open_calls())
        before = [] if lane in self.rewound else self.sent.get(lane, [])
        self.rewound.discard(lane)
        at = next((at for at, (one, other) in enumerate(zip(before, view, strict=False)) if one != other), None)
        # a server tool's call at the very end leaves, also in a later process, which does not know the view before
        if at is not None and not moved & events.MOVES_PREFIX and "server_tool_use" not in json.dumps(before[at]):
            yield "the view does not begin with the one before it, and no event says why"


def status_index(history: list[Message], status: Any, context: Any) -> int:
    """The index of a message in the conversation."""
    return context._session.history.branch.position(status.seq)  # the number of what comes before it
