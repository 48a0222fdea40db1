"""Messages that a host replaced after they were sent: what is sent next is what is in the history now."""

from typing import Any

import pytest

from backscroll import ContextManager, Protection, Summarizer
from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from tests.builders import DIALECTS, MessageFactory
from tests.views import in_a_row

Message = dict[str, Any]


def conversation(dialect: str, results: list[str]) -> list[Message]:
    talk = MessageFactory(dialect)
    ids = [f"c{number}" for number in range(len(results))]
    answers = talk.results([(name, text) for name, text in zip(ids, results, strict=True)])
    return [talk.say("user", "go"), talk.call(ids, "I look.", {"path": "a.py"}), *answers]


def by_setting(manager: ContextManager, messages: list[Message]) -> None:
    manager.set_messages(messages)


def by_rewinding(manager: ContextManager, messages: list[Message]) -> None:
    manager.rewind(1)
    manager.append(*messages[2:])


ALL = pytest.mark.parametrize("dialect", DIALECTS)
WAYS = pytest.mark.parametrize("replace", [by_setting, by_rewinding])


@ALL
@WAYS
@pytest.mark.parametrize("results", [1, 2, 3])
@pytest.mark.parametrize("more", [[], [{"role": "user", "content": "and now?"}]], ids=["newest", "older"])
@pytest.mark.parametrize("store", [None, "sqlite"])
def test_replaced_result_is_what_is_sent(dialect, replace, results, more, store, tmp_path):
    """The next request holds the new result, here and in a session that is opened from the store."""
    options: dict[str, Any] = {"store": f"sqlite:///{tmp_path}/a.db", "session": "s"} if store else {}
    before = conversation(dialect, [f"old {number}" for number in range(results)])
    after = [*conversation(dialect, [f"new {number}" for number in range(results)]), *more]
    with_manager = ContextManager(**options)
    with_manager.append(*before)
    with_manager.get_messages_for_request()
    replace(with_manager, after)
    assert with_manager.get_messages_for_request() == in_a_row(after)
    (request,) = with_manager.list_requests()[-1:]
    assert with_manager.get_request(request.at).messages == in_a_row(after)
    with_manager.close()
    if store:
        again = ContextManager(**options)
        assert again.get_messages_for_request() == in_a_row(after)
        again.close()


@ALL
@WAYS
@pytest.mark.parametrize("options", [{"protect": Protection(first=3)}, {"protect": Protection(last=2)}])
def test_replaced_result_among_protected_messages_is_sent(dialect, replace, options):
    """Messages that are protected by number are those that are there now, also when the view is compacted."""
    manager = ContextManager(budget=3_000, clear_at_least_tokens=None, **options)
    before = conversation(dialect, ["old " * 50])
    manager.append(*before)
    manager.get_messages_for_request()
    after = conversation(dialect, ["new " * 50])
    replace(manager, after)
    talk = MessageFactory(dialect)
    for number in range(12):
        added = [talk.call([f"d{number}"], "", {}), *talk.results([(f"d{number}", f"{number} line\n" * 150)])]
        manager.append(*added)
        after += added
        view = manager.get_messages_for_request()
        assert strangers(view, after) == []
        assert problems(view, after) == []


@ALL
def test_replaced_result_is_in_the_turn_that_asks_for_a_summary(dialect):
    """A summary that is asked for as one more turn is about the messages that are there now."""
    asked: list[Any] = []

    def summarize(request: Any) -> str:
        asked.append(request.messages)
        return "All is read."

    manager = ContextManager(budget=3_000, summarizer=Summarizer(fn=summarize, reuse_prefix=True, wait_seconds=5))
    talk = MessageFactory(dialect)
    history = conversation(dialect, ["old " * 50])
    manager.append(*history)
    manager.get_messages_for_request()
    history = conversation(dialect, ["new " * 50])
    by_rewinding(manager, history)
    for number in range(12):
        added = [talk.call([f"d{number}"], "", {}), *talk.results([(f"d{number}", f"{number} line\n" * 150)])]
        manager.append(*added)
        history += added
        manager.get_messages_for_request()
    assert asked
    for messages in asked:
        assert strangers(list(messages), history) == []
    manager.close()
