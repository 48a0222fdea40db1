"""What is linted: a transcript, or the requests of one conversation in the order sent."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from backscroll.evaluation.lint.place import Place
from backscroll.evaluation.lint.request import Request, message_key
from backscroll.evaluation.lint.same import first_difference
from backscroll.evaluation.transcript import Message, is_answer
from backscroll.messages import ParsedMessage, paired, read_message


class Said(NamedTuple):
    """One message of a conversation, however many requests hold it."""

    message: Message
    reading: ParsedMessage
    place: Place
    """Where it is first."""
    sends: int
    """Number of requests that hold it."""
    span: int
    """For a transcript, how many compactions by its client precede it."""


class Usage(NamedTuple):
    """What a log says about one request. Tokens are the provider's."""

    seconds: float
    """When it was answered, since 1970."""
    read: int
    """Tokens read from the cache."""
    written: int
    """Tokens written to it."""
    prompt: int
    """Tokens of the whole prompt."""
    life: float
    """Seconds for which the written tokens live."""


class Step(NamedTuple):
    """A request, and the earlier one that it goes on from."""

    before: Request
    after: Request
    shared: int
    """Number of messages at the beginning that are equal."""

    @property
    def appends(self) -> bool:
        """Whether the later request begins with all of the earlier one."""
        before, after = self.before, self.after
        same = before.tool_keys == after.tool_keys and before.system_key == after.system_key
        return same and self.shared == len(before.messages)

    @property
    def repeated(self) -> list[Message]:
        """The messages behind `shared` that the earlier request held as well: what a cache would have had."""
        had = Counter(self.before.message_keys[self.shared :])
        found = []
        pairs = zip(self.after.messages, self.after.message_keys, strict=True)
        for message, known in list(pairs)[self.shared :]:
            if had[known]:
                had[known] -= 1
                found.append(message)
        return found


_BRANCHES = 16  # requests that are looked at; more branches than these hardly ever alternate


def _extends(after: Request, before: Request) -> bool:
    return after.message_keys[: len(before.messages)] == before.message_keys


class Talk:
    """A conversation. Without `requests` it is a transcript, which does not show how it was sent.

    Args:
        name: The file or session, for findings.
        messages: The messages of a transcript.
        requests: The requests of one conversation in the order sent; then `messages` must be empty.
        recorded: For a transcript, what its log says about the request behind each answer; `None` where nothing.
        compacted: For a transcript, the indexes of the messages before which its client compacted: nothing that
            precedes one was sent after it.
    """

    def __init__(
        self,
        name: str,
        messages: Sequence[Message] = (),
        requests: Sequence[Request] = (),
        recorded: Sequence["Usage | None"] = (),
        compacted: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.requests = requests
        self.messages = messages
        self.recorded = recorded
        self.compacted = compacted
        self.is_usual = False
        """Whether another conversation of the run has the same system prompt; see `run.lint_all`."""
        self._read: dict[str, ParsedMessage] = {}

    @cached_property
    def steps(self) -> list[Step]:
        """Each request but the first with the one that it goes on from: the one before it, or where several branches
        alternate, the newest of those that it has most in common with.
        """
        found = []
        for at, after in enumerate(self.requests[1:], 1):
            before = self.requests[at - 1]
            if not _extends(after, before):
                own = Counter(after.message_keys)
                near = self.requests[max(0, at - _BRANCHES) : at]
                before = max(reversed(near), key=lambda each: (Counter(each.message_keys) & own).total())
            found.append(Step(before, after, first_difference(before.message_keys, after.message_keys)))
        return found

    @cached_property
    def own_readings(self) -> Sequence[ParsedMessage]:
        """The readings of a transcript's messages, results with the ids of their calls."""
        return paired([read_message(message) for message in self.messages])

    @cached_property
    def said(self) -> list[Said]:
        """Every message once, in the order of their first requests."""
        return self._of_requests() if self.requests else self._of_transcript()

    @cached_property
    def prompt(self) -> str:
        """The leading system messages of a transcript, as JSON; empty without any."""
        rest = (at for at, reading in enumerate(self.own_readings) if not reading.is_system)
        leading = self.messages[: next(rest, len(self.messages))]
        return "".join(map(message_key, leading))

    def readings(self, request: Request) -> Sequence[ParsedMessage]:
        """Return the readings of a request's messages, results with the ids of their calls."""
        for message, known in zip(request.messages, request.message_keys, strict=True):
            if known not in self._read:
                self._read[known] = read_message(message)
        return paired([self._read[known] for known in request.message_keys])

    def _of_transcript(self) -> list[Said]:
        spans = list(accumulate(at in self.compacted for at in range(len(self.messages))))
        left = Counter(span for span, message in zip(spans, self.messages, strict=True) if is_answer(message))
        found = []
        for at, (message, reading, span) in enumerate(zip(self.messages, self.own_readings, spans, strict=True)):
            left[span] -= is_answer(message)
            found.append(
                Said(message=message, reading=reading, place=Place(f"messages[{at}]"), sends=left[span], span=int(span))
            )
        return found

    def _of_requests(self) -> list[Said]:
        """Readings come from the first request that holds a message, where its call is as well."""
        sends = Counter(known for request in self.requests for known in set(request.message_keys))
        seen: set[str] = set()
        found = []
        for request in self.requests:
            if seen.issuperset(request.message_keys):
                continue
            readings = self.readings(request)
            for at, (message, known) in enumerate(zip(request.messages, request.message_keys, strict=True)):
                if known not in seen:
                    seen.add(known)
                    place = Place(f"{request.list_name}[{at}]", request.number)
                    found.append(Said(message=message, reading=readings[at], place=place, sends=sends[known], span=0))
        return found

    def together(self, earlier: Said, later: Said) -> bool:
        """Return whether the first request with the later message holds the earlier one as well."""
        if not self.requests:
            return earlier.span == later.span
        request = next(each for each in self.requests if each.number == later.place.request)
        return message_key(earlier.message) in request.message_keys
