"""Where a view may be cut for a native compaction, and which block is worth using."""

import re
from typing import NamedTuple

import pytest

from backscroll import Protection, events
from backscroll.compaction.native import worth_using
from backscroll.evaluation.fake_providers import reply
from tests.bound_agent import Message
from tests.compaction.native_talk import NativeTalk

VENDORS = ("anthropic", "openai")


class Steered(NativeTalk):
    """The user speaks behind each result; in short, since notes on a block quote it."""

    def go_on(self, call):
        self.manager.append(self.result(call), {"role": "user", "content": f"Go on with {self.number}. " * 10})


class Instructed(NativeTalk):
    """A system message follows each second result."""

    def go_on(self, call):
        self.manager.append(self.result(call))
        if self.number % 2:
            self.manager.append({"role": "system", "content": f"Mind rule {self.number}."})


class Chat(NativeTalk):
    """The model calls nothing."""

    def reply_to(self, request):
        if request.get("compaction"):
            return super().reply_to(request)
        self.number += 1
        return reply(f"Said {self.number}. " * 60, thinking="What is next? " * 12)

    def go_on(self, call):
        self.manager.append({"role": "user", "content": f"Go on with {self.number}. " * 60})


class Late(NativeTalk):
    """Of each third call the result comes a turn late."""

    waiting = None

    def go_on(self, call):
        if self.number % 3 == 0:
            self.waiting = call
            self.manager.append({"role": "user", "content": f"Do not wait, wait {self.number}: go on."})
            return
        self.manager.append(self.result(call))
        if self.waiting:
            self.number -= 1  # its own note
            self.manager.append(self.result(self.waiting))
            self.number += 1
            self.waiting = None


class Asked(NamedTuple):
    """What was asked for."""

    compacted: list[Message]
    kept: list[Message]
    """What stays in the view."""
    last: int
    """The newest message that the block will represent."""
    history: list[Message]


def orders(talk, most=50):
    """Work, and return what was asked for."""
    found = []
    for _ in range(most):
        asked = len(talk.asked)
        view = talk.send()
        for request in talk.asked[asked:]:
            last = talk.payloads(events.NATIVE_STARTED)[-1]["last"]
            found.append(Asked(request.messages, view[len(request.messages) :], last, talk.manager.get_messages()))
    assert len(found) >= 2
    return found


def roles(items):
    return [item.get("role") or ("tool" if item["type"].endswith("output") else "assistant") for item in items]


def test_cut_is_not_between_messages_of_one_role():
    """Else the reasoning of the kept turns would not stay valid behind the block."""
    talk = Steered(protect=Protection(recent=0.3), target_usage=0.6)
    for compacted, kept, *_ in orders(talk):
        assert roles(compacted)[-1] != roles(kept)[0]
    assert events.REASONING_REMOVED not in talk.names


def test_cut_is_behind_a_user_where_nothing_is_called():
    for compacted, *_ in orders(Chat()):
        assert roles(compacted)[-1] == "user"


def test_cut_is_not_before_a_system_message():
    for _, kept, *_ in orders(Instructed("openai")):
        assert roles(kept)[0] not in ("system", "developer")


@pytest.mark.parametrize("vendor", VENDORS)
def test_cut_has_nothing_behind_it_that_came_earlier(vendor):
    """A late result is text where it came: its call may be in the block, and the result behind it."""
    for order in orders(Late(vendor)):
        for seq, message in enumerate(order.history):
            marker = re.search(r"Note \d+:|wait \d+:", str(message))
            if marker is not None:
                assert seq <= order.last or marker[0] not in str(order.compacted)
                assert seq > order.last or marker[0] not in str(order.kept)


@pytest.mark.parametrize(
    ("freed", "block", "worth"), [(100, 400, True), (99, 400, False), (100, 401, False), (1_000, 10, True)]
)
def test_block_is_worth_using_by_what_it_frees(freed, block, worth):
    assert worth_using(freed, block, room=1_000) is worth
