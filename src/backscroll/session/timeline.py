"""Going back: to an earlier end of the branch, to a view of the past, into a fork, to nothing at all.

Operations, as in `session.py`. What was added stays in the log through all of these but the last.
"""

from typing import Self

from backscroll.errors import ReferenceNotFound
from backscroll.history.journal import Logbook
from backscroll.history.loading import chunks, hold
from backscroll.history.log import MessageAdded, PinChanged, PromptSeen, Rewound
from backscroll.messages import Message, copy_message
from backscroll.ports import Ask, Operation
from backscroll.session.explain import usage
from backscroll.session.lane import Lane, Situation
from backscroll.session.state import SessionState
from backscroll.session.window_report import Status, status
from backscroll.tokens.usage import Usage


class Timeline(SessionState):
    """A session that can go back."""

    def rewind(self, to: int) -> Operation[None]:
        """The branch ends at `to`; -1 empties it. Raises `ReferenceNotFound` for what is not on it."""
        yield from self.enter()
        branch = self.history.branch
        self._check_on_branch(to)
        if to != (branch[-1] if branch else -1):
            yield from self._happen(Rewound(to), lambda: self._check_on_branch(to))

    def _check_on_branch(self, to: int) -> None:
        branch = self.history.branch
        if type(to) is not int or (to != -1 and to not in branch):
            raise ReferenceNotFound(f"message {to!r} is not on the current branch, which has {len(branch)} messages")

    def messages(self) -> Operation[list[Message]]:
        """Copies of everything stored on the branch."""
        yield from self.enter()
        return (yield from self.stored())

    def stored(self, start: int = 0) -> Operation[list[Message]]:
        """The same from an index on, with the lock held already."""
        copies: list[Message] = []
        branch = self.history.branch
        for seqs in chunks(list(branch.between(start, len(branch)))):
            copies += [copy_message(entry.message) for entry in (yield from self.fetch(seqs))]
        return copies

    def messages_at(self, at: int) -> Operation[list[Message]]:
        """The branch as it was when the message `at` had just been added. Raises `ReferenceNotFound`."""
        past = yield from self._as_of(at)
        return (yield from past.stored())

    def view_at(self, at: int | None, lane_name: str) -> Operation[list[Message]]:
        """The view that was sent last, or would have been sent, before a message came behind `at`; None = now.

        Without ephemeral messages. Raises `ReferenceNotFound`.
        """
        if at is None:
            yield from self.enter()
            past, now = self, self._look(lane_name)
        else:
            past = yield from self._as_of(at)
            now = past._look(lane_name)
        prompt = None if now.prompt is None else (yield from past._prompt_of(now.prompt))
        lane = past._make_lane(lane_name, now.plan)  # of its own: what is looked at changes nothing
        yield from past._refreshed(lane, prompt)
        assert lane.view is not None
        return lane.view.copies()

    def status(self, lane_name: str) -> Operation[Status]:
        """What the lane's window is made of, and what a compaction now would do. Changes nothing."""
        yield from self.enter()
        lane, now = yield from self._lane_now(lane_name)
        found = yield Ask(status, (self.history, lane, now), heavy=True, tolerant=True)
        if isinstance(found, Exception):
            raise found
        seen: Status = found
        return seen

    def usage_as_stored(self, lane_name: str) -> Operation[Usage]:
        """What is in the window of a lane of which no view was made here yet. It needs no lock: what is stored is read
        by a session of its own.
        """
        twin = self
        if (logbook := self._logbook) is not None:
            own = Logbook(logbook.store, logbook.session)
            twin = self._twin(own)
            yield from twin._open(own)
        lane, _ = yield from twin._lane_now(lane_name)
        return usage(twin.history, lane)

    def _lane_now(self, lane_name: str) -> Operation[tuple[Lane, Situation]]:
        """A lane with its view as it stands, of its own: what is looked at changes nothing."""
        known = self._look(lane_name)
        prompt = None if known.prompt is None else (yield from self._prompt_of(known.prompt))
        lane = self._make_lane(lane_name, known.plan)
        lane.resume(known.mark())
        return lane, (yield from self._refreshed(lane, prompt))

    def _refreshed(self, lane: Lane, prompt: str | None) -> Operation[Situation]:
        """Brings a lane's view up to date, with what it shows of what is not held."""
        now = self._situation(prompt)
        if missing := lane.missing(now):
            yield from hold(self.history, self._logbook, missing)
        self.outbox += lane.refresh(now)
        return now

    def _situation(self, prompt: str | None) -> Situation:
        return Situation(
            self.history, self.options, self._strategies, self._ephemerals, prompt, self._prices, self._seconds
        )

    def _prompt_of(self, digest: str) -> Operation[str | None]:
        if self._logbook is not None:
            return (yield from self._logbook.prompt(digest))
        seen = (event.text for event in self.events if isinstance(event, PromptSeen) and event.digest == digest)
        return next(seen, None)

    def _as_of(self, at: int) -> Operation[Self]:
        """A session of its own that stands where this one stood before the branch went on behind `at`, or back."""
        yield from self.enter()
        return (yield from self._before(at))

    def _before(self, at: int) -> Operation[Self]:
        """The same with the lock held already."""
        self._check(at)
        logbook = self._logbook
        if logbook is None:
            twin = self._twin(None)
            for event in self.events:
                if twin.history.next_seq > at and isinstance(event, MessageAdded | Rewound):
                    break
                twin.apply(event)
            return twin
        yield from self._flushed()
        twin = self._twin(Logbook(logbook.store, logbook.session))
        place = yield from logbook.place_before_next(at)
        mark, behind = yield from logbook.standing(place)
        yield from twin._stand(logbook, mark, behind, place)
        return twin

    def _check(self, at: int) -> None:
        last = self.history.next_seq - 1
        if type(at) is not int or not 0 <= at <= last:
            raise ReferenceNotFound(f"no message {at!r} in this session; its messages are 0 to {last}")

    def _twin(self, logbook: Logbook | None) -> Self:
        twin = type(self)(
            self.options, self._strategies, measure=self._measure, count=self._count, counted_by=self._counted_by,
            family=self._family, prices=self._prices, logbook=logbook,
            summaries=None,
        )  # fmt: skip  # names that repeat themselves tell nothing
        twin.write, twin.reads_only = self.write, self.reads_only
        return twin

    def fork(self, new: str, at: int | None) -> Operation[None]:
        """Begins a session of the same store with this one's past, up to the message `at`; None = up to now."""
        yield from self.enter()
        if at is not None:
            self._check(at)
        yield from self._flushed()
        logbook = self._logbook
        assert logbook is not None
        place = yield from (logbook.place_before_next(at) if at is not None else logbook.place_at_end())
        pins = [] if at is None else (yield from self._pinned_since(at))
        if place:
            yield Ask(logbook.store.fork, (logbook.session, new, place))
            yield from logbook.behind(new, place, pins)

    def _pinned_since(self, at: int) -> Operation[list[PinChanged]]:
        """What was pinned and unpinned behind `at` of the messages up to it, which a rewind to it would keep."""
        pins = {seq: pinned for seq, pinned in self.history.pins.items() if seq <= at}
        if not pins:
            return []
        past = (yield from self._before(at)).history
        return [PinChanged(seq, now) for seq, now in pins.items() if seq in past.branch and past.pins.get(seq) != now]

    def erase(self, cascade: bool) -> Operation[None]:
        """Leaves nothing of the session, neither in its store nor here."""
        yield from self.enter()
        if self._logbook is not None:
            yield Ask(self._logbook.store.erase, (self._logbook.session, cascade), heavy=True)
            self._logbook.forget()
            yield from self._logbook.release()  # it went with the session: who begins anew takes it anew
        self._entered = False
        self._ephemerals.clear()
        self.events.clear()
        self._begin()
