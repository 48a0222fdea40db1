"""Stand-ins that tests use: tokenizers, stores whose faults a test chooses, summarizers, and recording sessions."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

from backscroll import BudgetError, ConflictError, ContextManager, CorruptionError, SummaryRequest, events
from backscroll.ports import BlobInfo, Record, Stored, Tip


def count_quarter(text: str) -> int:
    """A tokenizer that costs nothing: a token for each four characters, and one more."""
    return len(text) // 4 + 1


class CountingTokenizer:
    """A tokenizer that records which texts it counted, and how often."""

    name, exact = "counting", True

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()

    def count(self, text: str) -> int:
        self.texts[text] += 1
        return len(text) // 4 + 1

    @property
    def characters(self) -> int:
        """All characters counted so far."""
        return sum(len(text) * times for text, times in self.texts.items())


class RecordingSession:
    """A manager and every event that it reported. Options are those of the manager; `count_quarter` counts tokens."""

    def __init__(self, **options: Any) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        """Names and payloads, since a test last cleared the list."""
        self.manager = ContextManager(**{"tokenizer": count_quarter, "on_event": self._record, **options})

    def _record(self, name: str, payload: dict[str, Any]) -> None:
        self.events.append((name, payload))

    @property
    def names(self) -> list[str]:
        """Names of the recorded events."""
        return [name for name, _ in self.events]

    @property
    def compactions(self) -> int:
        """How many compactions were reported."""
        return self.names.count(events.COMPACTION)

    def payloads(self, name: str) -> list[dict[str, Any]]:
        """Payloads of all recorded events of this name."""
        return [payload for found, payload in self.events if found == name]

    def view(self, budget: int | None = None, lane: str = "main") -> list[dict[str, Any]] | None:
        """The view, or None if it was refused."""
        try:
            return self.manager.get_messages_for_request(token_budget=budget, lane=lane)
        except BudgetError:
            return None


class FaultyStore:
    """A store in memory whose faults a test can choose."""

    capabilities: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.logs = defaultdict(list)
        self.fails: list[Exception] = []
        """What the next appends fail with, one each."""
        self.before: Any = None
        """Called once before the next append: another worker, at the worst moment."""
        self.appends = self.ends = self.reads = 0

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Future[str]:
        if self.before is not None:
            before, self.before = self.before, None
            before()
        self.appends += 1
        done = Future()
        log = self.logs[session]
        if self.fails:
            done.set_exception(self.fails.pop(0))
        elif len(log) != expected_position:
            done.set_exception(ConflictError(f"the log ends at {len(log)}, not at {expected_position}"))
        else:
            log += records
            done.set_result(session)
        return done

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        self.reads += 1
        return iter([Stored(at, record) for at, record in enumerate(self.logs[session])][start:stop])

    def length(self, session: str) -> int:
        return self.tip(session).end

    def tip(self, session: str) -> Tip:
        self.ends += 1
        return Tip(len(self.logs[session]), session if self.logs[session] else None)

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        for at, record in enumerate(self.logs[session]):
            if (record.key == key) if key else record.seq is not None and record.seq >= seq:
                return at
        return None


class FaultyBlobs:
    """Blobs in memory that record which were fetched and fail where a test wants it."""

    def __init__(self) -> None:
        self.held, self.ages = {}, {}
        self.got, self.fails = [], []
        self.put_slowly = None
        """Waited for by every put."""

    def __repr__(self) -> str:
        return "FaultyBlobs()"

    def put(self, name: str, data: bytes) -> None:
        if self.put_slowly is not None:
            self.put_slowly.wait(10)
        if self.fails:
            raise self.fails.pop(0)
        self.held.setdefault(name, bytes(data))

    def get(self, name: str) -> bytes:
        self.got.append(name)
        if name not in self.held:
            raise CorruptionError(f"the blob {name} is missing in FaultyBlobs()")
        return self.held[name]

    def delete(self, name: str) -> None:
        if self.fails:
            raise self.fails.pop(0)
        self.held.pop(name, None)

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        return iter([BlobInfo(name, self.ages.get(name, 0.0)) for name in list(self.held) if name.startswith(prefix)])


class ScriptedSummarizer:
    """A summarizer that records its requests and answers as a test wants."""

    def __init__(self, answer: Callable[[int], Any] | None = None) -> None:
        self.requests = []
        self.answer = answer or (lambda number: f"<summary>Summary number {spelled(number)}: all went well.</summary>")

    def __call__(self, request: SummaryRequest) -> Any:
        self.requests.append(request)
        answer = self.answer(len(self.requests))
        if isinstance(answer, Exception):
            raise answer
        return answer


def spelled(number: int) -> str:
    """A number in words: a model that says which summary this is counts for itself, and no message says it."""
    return " ".join(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")[int(digit)]
        for digit in str(number)
    )
