"""A result that only refers to an earlier one: the earlier one stays, or is shown in its place."""

from typing import Any

import pytest

from backscroll import ContextManager, Protection
from backscroll.compaction.back_references import lost_references
from backscroll.evaluation.validity import problems
from backscroll.messages.back_references import SENTENCES, mark_of, meant_by
from tests.builders import DIALECTS, MessageFactory
from tests.long_run import usually
from tests.present import present
from tests.rereading import UNCHANGED, Rereading, texts

IDENTICAL = "<identical to result [r12] from your Bash call earlier — refer to that output>"


def worked(budget=4_000, files=30, **options):
    """An agent that read so many files, with a view after each, and then more until there is room again."""
    agent, number = Rereading(budget=budget, **options), 0
    while number < files or agent.manager.usage().used_upper_bound > budget * 0.55:
        agent.read(f"src/{number}.py", words=100)
        agent.view()
        number += 1
    return agent


def newest(view):
    return " ".join(texts(view[-1]))


@pytest.mark.parametrize("views", usually([12, 50], 1))
def test_50_views_have_what_their_newest_result_refers_to(views):
    lacking = noted = 0
    for number in range(views):
        agent = Rereading(seed=number, sentence=UNCHANGED[number % 3], budget=4_000)
        for read in range(20 + number % 9):
            agent.read(f"src/{read}.py", words=agent.chance.randrange(60, 180))
        agent.read(f"src/{number % 3}.py")
        view = present(agent.view())
        assert agent.session.compactions >= 1
        found = agent.lacking(view)
        lacking, noted = lacking + len(found[0]), noted + len(found[1])
    assert (lacking, noted) == (0, 0)


def test_new_result_shows_the_earlier_one_and_the_prefix_stays():
    agent = worked()
    before = present(agent.view())
    text = agent.read_as["src/0.py"][0]
    assert text not in " ".join(texts(before))
    agent.session.events.clear()
    agent.read("src/0.py")
    view = agent.view()
    assert view[: len(before)] == before
    assert agent.sentence in newest(view)
    assert text in newest(view)
    assert agent.session.payloads("context:compaction")[0]["trigger"] == "back_reference"
    assert [each.state for each in agent.manager.explain()][-1] == "restated"
    assert problems(view, agent.manager.get_messages()) == []


def test_restated_result_does_not_delay_the_next_compaction():
    agent = worked()
    lane = agent.manager._session.lanes["main"]
    settled, done = lane.settled, lane.compactions
    agent.session.events.clear()
    agent.read("src/0.py")
    agent.view()
    assert [each["trigger"] for each in agent.session.payloads("context:compaction")] == ["back_reference"]
    assert (lane.settled, lane.compactions) == (settled, done)


def test_earlier_result_in_the_view_is_not_shown_twice():
    agent = Rereading(budget=100_000)
    agent.read("src/a.py")
    agent.read("src/a.py")
    view = agent.view()
    assert " ".join(texts(view)).count(agent.read_as["src/a.py"][0]) == 1
    assert newest(view).endswith(agent.sentence)


def test_too_long_a_result_is_named():
    agent = Rereading(budget=4_000, strategies=["digest"], protect=Protection(recent=0.05))
    agent.read("src/long.py", words=600)
    for number in range(30):
        agent.read(f"src/{number}.py", words=100)
        agent.view()
    agent.read("src/long.py")
    view = present(agent.view())
    assert "It is not shown whole, recall [ref:2.0]. Read it again in parts" in newest(view)
    assert agent.lacking(view)[0] == []


def test_changed_file_is_the_one_that_was_read_last():
    agent = worked(files=8)
    agent.view()
    agent.change("src/3.py")
    agent.read("src/3.py")
    second = agent.read_as["src/3.py"][0]
    for number in range(10, 40):
        agent.read(f"src/{number}.py", words=100)
        agent.view()
    agent.read("src/3.py")
    assert second in newest(agent.view())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_result_that_a_mark_names(dialect):
    talk = MessageFactory(dialect)
    long = "the log says " + " ".join(f"event{number}" for number in range(60))
    with ContextManager(tokenizer=lambda text: len(text) // 4 + 1, budget=3_000) as context:
        context.append(talk.say("user", "Run it."))
        context.append(talk.call(["a"], "", {"command": "make"}), *talk.results([("a", f"{long}\n[result-id: r12]")]))
        for number in range(30):
            context.append(talk.call([f"c{number}"], "", {"command": f"echo {number}"}))
            context.append(*talk.results([(f"c{number}", f"{number} word " * 60)]))
            context.get_messages_for_request()
        assert long not in " ".join(texts(context.get_messages_for_request()))
        context.append(talk.call(["b"], "", {"command": "make again"}), *talk.results([("b", IDENTICAL)]))
        assert long in newest(context.get_messages_for_request())


def test_reopened_session_has_the_same_view(tmp_path):
    store = f"sqlite:///{tmp_path}/a.db"
    agent = worked(store=store, session="s")
    agent.read("src/0.py")
    view, text = agent.view(), agent.read_as["src/0.py"][0]
    agent.manager.close()
    with ContextManager(tokenizer=lambda text: len(text) // 4 + 1, budget=4_000, store=store, session="s") as again:
        assert again.get_messages_for_request() == view
        assert text in newest(view)


def test_undone_compaction_keeps_what_results_refer_to():
    agent = worked()
    agent.read("src/0.py")
    agent.view()
    agent.manager.compact()
    agent.manager.undo_compaction()
    view = agent.view()
    assert agent.lacking(view) == ([], [])


def test_step_without_such_a_result_looks_at_new_messages_alone():
    agent = worked(budget=40_000, files=120)
    state = agent.manager._session
    view, looked = state.lanes["main"].view, []

    class Counted(list[Any]):
        def __reversed__(self):
            for each in super().__reversed__():
                looked.append(each)
                yield each

    since = view.segments[-2].entries[0].seq
    view.segments = Counted(view.segments)
    assert len(view.segments) > 20
    assert lost_references(view, state.history, since) == []
    assert len(looked) <= 3


@pytest.mark.parametrize("sentence", UNCHANGED)
@pytest.mark.parametrize(
    "around", ["{}", "\n{}", "{}\n<system-reminder>Be brief.</system-reminder>", '{{"output":"{}"}}']
)
def test_sentences_of_clients(sentence, around):
    assert meant_by(around.format(sentence)) == ""


def test_mark_in_a_sentence():
    assert meant_by(IDENTICAL) == "r12"
    assert mark_of("a log\n[result-id: r12]") == "r12"
    assert mark_of("[result-id: r12] is how it ends") == ""


@pytest.mark.parametrize(
    "text", ["", "File unchanged", f"1: {UNCHANGED[0]}", UNCHANGED[0] + "\nx = 1" * 400, "[File a.py]"]
)
def test_texts_that_refer_to_nothing(text):
    assert meant_by(text) is None


def test_each_sentence_has_a_source():
    assert all(sentence.client and sentence.source for sentence in SENTENCES)


def test_plan_with_restated_results_is_read_as_it_was_written():
    agent = worked()
    agent.read("src/0.py")
    agent.view()
    plan = agent.manager._session.lanes["main"].plan
    assert plan.left
    assert plan.restated() == [2]
