"""Replays a transcript: a view before each assistant message, and the cost of all of them.

Views are judged independently of the manager: by this module's own token count, by `validity` and by `retention`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from backscroll import events
from backscroll.compaction.modes import STANDARD
from backscroll.compaction.options import CachePricing
from backscroll.compaction.strategies import AUTO, masks_batches
from backscroll.errors import BudgetError, ConfigurationError
from backscroll.evaluation.retention import Measure, Needs, Recalled
from backscroll.evaluation.summarizers import SUMMARIZING_STRATEGIES, Asked, Bill, Summarizing
from backscroll.evaluation.transcript import Message, Transcript, is_answer
from backscroll.evaluation.validity import Judge
from backscroll.manager.importing import ImportingManager
from backscroll.messages import read_message
from backscroll.tokens.engines import resolve

_PER_MESSAGE = 4  # tokens to frame a message: role, separators
_PER_CALL = 8  # tokens to frame a tool call: id, keys, brackets
_PROBLEMS_KEPT = 5  # enough to see a pattern; `invalid` counts them all

EventHandler = Callable[[str, dict[str, Any]], Any]


class Manager(Protocol):
    """What a replay needs of a context manager; `ContextManager` is one."""

    def append(self, message: Message, /) -> object:
        """Add a message."""
        ...

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        """Return the view for a request of at most `token_budget` tokens."""
        ...


MakeManager = Callable[[int, EventHandler], Manager]
"""Creates a new manager from the budget in tokens and an event handler."""
Witness = Callable[["Step", Manager], object]
"""Called with each request and its manager, right after the request."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The figures of one replay. Tokens are those of the named tokenizer, including framing, without media."""

    name: str
    strategy: str
    """The strategies, as `chain` names them."""
    format: str
    messages: int
    budget: int
    """Tokens allowed per request."""
    raw_tokens: int
    """Tokens of the whole transcript, each message once."""
    requests: int
    """Requests made, including refused ones."""
    tokens_sent: int
    """Sum over all requests that were not refused."""
    tokens_after_first: int
    """`tokens_sent` without the first request: the most that a prompt cache could have held."""
    tokens_kept: int
    """Of these, the tokens in the message prefix that a request shares with the one before it."""
    compactions: int
    """Events named `context:compaction`."""
    summary_calls: int
    """Calls of the summarizer, including failed ones."""
    summaries: int
    """Usable summaries."""
    summaries_failed: int
    summary_failure: str
    """Why the first of these failed; empty without a failure."""
    summary_input_tokens: int
    summary_output_tokens: int
    """Tokens as the summarizer's provider counted them."""
    summary_cost: float
    """Millions of input token equivalents: input at 1, output at `summarizers.OUTPUT`."""
    cost: float
    """Millions of input token equivalents: a kept prefix at the price of reading from the prompt cache, everything
    else at that of writing to it; includes `summary_cost`.
    """
    cost_whole: float
    """The same for sending the whole history at each of these requests, even if it does not fit. Refused requests
    cost nothing in either figure, so that the two are comparable.
    """
    refused: int
    """Requests for which the manager raised `BudgetError`: messages that must stay do not fit."""
    refusal: str
    """Text of the first of these errors; empty without one."""
    invalid: int
    """Views with at least one problem."""
    problems: tuple[str, ...]
    """The first few of them, with the request's number."""
    over_budget: int
    """Views of more tokens than the budget."""
    peak_tokens: int
    """Tokens of the largest view."""
    facts: int
    """Facts that the recorded messages use and their histories mention, at requests whose history is over the budget.
    Facts are paths, URLs, identifiers, numbers, ids, quoted phrases and edited lines; each counts once per message.
    """
    recall: float | None
    """Share (0 to 1) of these facts that were in the view near words that were near them before: the mean over the
    requests that need any; `None` without such a request. A refused request kept nothing.
    """
    reachable: float | None
    """Share that was anywhere in the view, or in the answer to one recall of a reference in it."""
    far_facts: int
    """Facts last mentioned further back than the budget, so that no sliding window holds them."""
    far_recall: float | None
    far_reachable: float | None
    cpu_seconds: float
    """CPU seconds of the manager: adding all messages and building all views, without the summarizer's client."""

    @property
    def prefix_kept(self) -> float | None:
        """Share (0 to 1) of the tokens after the first request that a prompt cache could have held."""
        return self.tokens_kept / self.tokens_after_first if self.tokens_after_first else None


def replay(
    transcript: Transcript,
    *,
    budget: int | float,
    strategies: Sequence[str] | None = None,
    model: str | None = None,
    tokenizer: str | Callable[[str], int] = "auto",
    summaries: Asked | None = None,
    progress: Callable[[], object] | None = None,
    make_manager: MakeManager | None = None,
    prices: CachePricing | None = None,
    needs: Needs | None = None,
    witness: Witness | None = None,
    mode: str = STANDARD.name,
    options: Mapping[str, Any] | None = None,
) -> Outcome:
    """Feed a transcript to a manager, request a view before each assistant message, and judge every view.

    `budget` is in tokens (int, at least 1) or a share of the transcript's own tokens (float, above 0 to 1). `summaries`
    says how to write summaries, `None`: without a model. `options` are further options of Backscroll's manager, and
    take precedence. `make_manager` replaces this manager; `strategies` then only names the outcome. Raises
    `ConfigurationError` for a budget or name that cannot be used, and `MessageError` for an invalid message.
    """
    weigher = Weigher(_counter(tokenizer))
    weights = [weigher(message) for message in transcript.messages]
    tokens = budget_tokens(budget, sum(weights))
    ledger = _Ledger(weigher, weights, tokens, prices or CachePricing())
    measure = Measure(needs or Needs(transcript.messages), weights, tokens, weigher.count)
    make = make_manager or backscroll_manager(
        strategies, model, tokenizer, summaries, prices, mode=mode, options=options
    )
    manager = make(tokens, ledger.on_event)
    clock = _Clock()
    for step in steps(transcript, manager, tokens, clock):
        ledger.take(step, transcript.messages[: step.before])
        measure(step.before, step.view, getattr(manager, "recall", None))
        if witness:
            witness(step, manager)
        if progress:
            progress()
    bill = manager.bill() if isinstance(manager, Summarizing) else Bill()
    return ledger.outcome(transcript, _named(strategies, mode), measure.result(), clock, bill)


def _named(strategies: Sequence[str] | None, mode: str) -> str:
    """Return the name of an outcome: the mode where it is not the default, and what differs from `auto`."""
    if mode == STANDARD.name:
        return chain(strategies)
    return mode if strategies is None else f"{mode}: {chain(strategies)}"


def chain(strategies: Sequence[str] | None) -> str:
    """Return the name of a list of strategies: `excerpt,truncate`; `auto` for `None`, `none` for an empty list."""
    return "auto" if strategies is None else ",".join(strategies) or "none"


def requests_of(transcript: Transcript) -> int:
    """Return the number of requests of a replay: assistant messages with at least one message before them."""
    return sum(map(is_answer, transcript.messages[1:]))


def budget_tokens(budget: int | float, raw_tokens: int) -> int:
    """Return the budget in tokens: an int unchanged, or a float (above 0 to 1) as a share of `raw_tokens`."""
    if isinstance(budget, float):
        if not 0 < budget <= 1:
            raise ConfigurationError(
                f"a budget of {budget} is not a share of a transcript; pass a float above 0 and at most 1, or an int"
            )
        return max(1, int(raw_tokens * budget))
    if budget < 1:
        raise ConfigurationError(f"a budget of {budget} tokens is too small; pass at least 1")
    return budget


def backscroll_manager(
    strategies: Sequence[str] | None,
    model: str | None,
    tokenizer: str | Callable[[str], int] = "auto",
    summaries: Asked | None = None,
    prices: CachePricing | None = None,
    *,
    mode: str = STANDARD.name,
    options: Mapping[str, Any] | None = None,
) -> MakeManager:
    """Return a function that creates Backscroll's own manager, in memory, with these options.

    `prices` are for strategies that use prices; `None`: their own default. `options` take precedence over all others.
    """
    further = dict(options or {})

    def make(budget: int, on_event: EventHandler) -> Manager:
        arguments: dict[str, Any] = {
            "strategies": AUTO if strategies is None else list(strategies),
            "mode": mode,
            "budget": budget,
            "tokenizer": tokenizer,
            "model": model,
            "on_event": on_event,
        }
        if prices is not None and masks_batches(arguments["strategies"]):
            arguments["cache_pricing"] = prices
        arguments |= further
        if summaries is None or not summarizes(strategies):
            return ImportingManager(**arguments)
        return Summarizing(summaries, **arguments)

    return make


def summarizes(strategies: Sequence[str] | None) -> bool:
    """Return whether a chain uses summaries."""
    return strategies is None or not SUMMARIZING_STRATEGIES.isdisjoint(strategies)


# Driving


class Step(NamedTuple):
    """One request."""

    before: int
    """Number of messages in the history at this request."""
    view: list[Message] | None
    """The messages to send; `None` if the manager refused."""
    refusal: str
    """Why it refused."""


def steps(transcript: Transcript, manager: Manager, budget: int, clock: "_Clock | None" = None) -> Iterator[Step]:
    """Add message by message and yield a request before each assistant message."""
    clock = clock or _Clock()
    for at, message in enumerate(transcript.messages):
        if at and is_answer(message):
            yield _request(manager, budget, at, clock)
        with clock:
            manager.append(message)


def _request(manager: Manager, budget: int, before: int, clock: "_Clock") -> Step:
    try:
        with clock:
            view = manager.get_messages_for_request(token_budget=budget)
    except BudgetError as error:
        return Step(before, None, str(error))
    return Step(before, view, "")


class _Clock:
    """CPU seconds of the process inside its `with` blocks."""

    def __init__(self) -> None:
        self.seconds: float = 0.0
        self._start = 0.0

    def __enter__(self) -> None:
        self._start = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.process_time() - self._start


# Weighing


def _counter(tokenizer: str | Callable[[str], int]) -> Callable[[str], int]:
    counter: Callable[[str], int] = resolve(tokenizer).count
    return counter


class Weigher:
    """Counts the tokens of messages in any dialect; each text is counted once. Media count as 0."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self._known: dict[str, int] = {}

    def __call__(self, message: Message) -> int:
        """Return the tokens of one message with its framing."""
        total = _PER_MESSAGE
        for part in read_message(message).parts:
            total += self._text(part.text)
            if part.kind == "call":
                total += self._text(part.name or "") + _PER_CALL
        return total

    def _text(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self.count(text) if text else 0
        return self._known[text]


class _Ledger:
    """Sums over the requests of one replay."""

    def __init__(self, weigher: Weigher, weights: Sequence[int], budget: int, prices: CachePricing) -> None:
        self._weigher = weigher
        self._history = weights
        self._budget = budget
        self._prices = prices
        self._view: list[Message] = []
        self._weights: list[int] = []
        self._whole = self._whole_sent = self._whole_kept = 0
        self.problems: list[str] = []
        self._judge = Judge()
        self.requests = self.refused = self.invalid = self.over = self.peak = self.compactions = 0
        self.sent = self.after_first = self.kept = 0
        self.refusal = self.failure = ""

    def on_event(self, name: str, payload: dict[str, Any]) -> None:
        """Count compactions, and keep why a summary failed."""
        self.compactions += name == events.COMPACTION
        if name == events.SUMMARY_FAILED:
            self.failure = self.failure or str(payload["reason"])

    def take(self, step: Step, history: list[Message]) -> None:
        """Add one request."""
        self.requests += 1
        if step.view is None:
            self.refused += 1
            self.refusal = self.refusal or f"request {self.requests}: {step.refusal}"
            return
        self._whole_kept += self._whole
        self._whole = sum(self._history[: step.before])
        self._whole_sent += self._whole
        found = self._judge.problems(step.view, history)
        self.invalid += bool(found)
        self.problems += [f"request {self.requests}: {problem}" for problem in found]
        del self.problems[_PROBLEMS_KEPT:]
        self._send(step.view)

    def _send(self, view: list[Message]) -> None:
        shared = 0
        while shared < min(len(view), len(self._view)) and view[shared] == self._view[shared]:
            shared += 1
        kept = self._weights[:shared]
        self._weights = kept + [self._weigher(message) for message in view[shared:]]
        total = sum(self._weights)
        self.after_first += total if self.sent else 0
        self.sent += total
        self.kept += sum(kept)
        self.over += total > self._budget
        self.peak = max(self.peak, total)
        self._view = view

    def outcome(self, transcript: Transcript, strategy: str, recalled: Recalled, clock: _Clock, bill: Bill) -> Outcome:
        """Return the sums under their public names."""
        return Outcome(
            name=transcript.name,
            strategy=strategy,
            format=transcript.format,
            messages=len(transcript.messages),
            budget=self._budget,
            raw_tokens=sum(self._history),
            requests=self.requests,
            tokens_sent=self.sent,
            tokens_after_first=self.after_first,
            tokens_kept=self.kept,
            compactions=self.compactions,
            summary_calls=bill.calls,
            summaries=bill.made,
            summaries_failed=bill.failed,
            summary_failure=self.failure,
            summary_input_tokens=bill.input_tokens,
            summary_output_tokens=bill.output_tokens,
            summary_cost=bill.cost,
            cost=self._prices.cost(self.sent, self.kept) + bill.cost,
            cost_whole=self._prices.cost(self._whole_sent, self._whole_kept),
            refused=self.refused,
            refusal=self.refusal,
            invalid=self.invalid,
            problems=tuple(self.problems),
            over_budget=self.over,
            peak_tokens=self.peak,
            facts=recalled.facts,
            recall=recalled.recall,
            reachable=recalled.reachable,
            far_facts=recalled.far_facts,
            far_recall=recalled.far_recall,
            far_reachable=recalled.far_reachable,
            cpu_seconds=max(0.0, clock.seconds - bill.cpu_seconds),
        )
