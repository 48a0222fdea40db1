"""How views begin and end: with a user's turn, and with the newest message, whatever was left out and taken back."""

import pytest

from backscroll import ContextManager
from backscroll.evaluation.validity import problems
from tests.builders import DIALECTS, MessageFactory
from tests.fakes import count_quarter
from tests.views import in_a_row, said_in


def opened(**options):
    """A manager for a model that binds no reasoning, so that nothing but whole messages leave a view."""
    return ContextManager(model="gpt-5.5", tokenizer=count_quarter, budget=4_000, **options)


@pytest.fixture(params=DIALECTS)
def talk(request):
    return MessageFactory(request.param)


def texts_of(message):
    """The texts of a user's message in any dialect."""
    assert message["role"] == "user"
    content = message.get("parts", message.get("content"))
    return [content] if isinstance(content, str) else [block["text"] for block in said_in(content)]


def states_of(context):
    """What became of each message: a hand-over quotes a short result, and does not show it."""
    return [each.state for each in context.explain()]


def hook(talk, text):
    return talk.say("user", text, {"source": "hook"})


def test_rewind_behind_a_result_of_an_unknown_call_shows_it(talk):
    """It is the newest message, as text of the user. What came before it may stay left out."""
    context = opened()
    context.append(talk.say("user", "go"), talk.call(["c"], "", {"path": "a.py"}), *talk.results([("c", "found it")]))
    (orphan,) = talk.results([("nobody", "lost")])
    last = context.append(orphan)
    context.append(talk.say("assistant", "well " * 900), talk.say("user", "and?"))
    context.trim(keep_last=1)
    context.get_messages_for_request()
    assert states_of(context)[:3] == ["whole", "digested", "digested"]
    context.rewind(last)
    view = context.get_messages_for_request()
    assert texts_of(view[-1]) == ["Result of an unknown call nobody [ref:3]:\n<result>\nlost\n</result>"]
    assert problems(view, context.get_messages()) == []
    context.rewind(last - 1)
    view = context.get_messages_for_request()
    assert view == in_a_row(context.get_messages())
    assert problems(view, context.get_messages()) == []


def test_call_stays_open_behind_a_result_of_an_unknown_call(talk):
    """A result that answers nothing closes no calls: their own may still come, and is shown where it comes."""
    context = opened()
    context.append(talk.say("user", "go"), talk.call(["c"], "", {}))
    (orphan,) = talk.results([("nobody", "lost")])
    context.append(orphan)
    assert [(call.id, call.went_on) for call in context.open_calls()] == [("c", True)]
    before = context.get_messages_for_request()
    assert "lost" in str(texts_of(before[-1]))
    context.append(*talk.results([("c", "found it")]))
    assert context.open_calls() == []
    view = context.get_messages_for_request()
    assert view[: len(before)] == before
    assert texts_of(view[-1]) == ["Later result of run (c) [ref:3]:\n<result>\nfound it\n</result>"]
    assert problems(view, context.get_messages()) == []


def test_call_that_a_request_showed_open_keeps_its_placeholder(talk):
    """Also where nothing came between: the provider's cache has the placeholder."""
    context = opened()
    context.append(talk.say("user", "go"), talk.call(["c"], "", {}))
    before = context.get_messages_for_request()
    assert "Still waiting" in str(before[-1])
    context.append(*talk.results([("c", "found it")]))
    view = context.get_messages_for_request()
    assert view[: len(before)] == before
    assert texts_of(view[-1]) == ["Later result of run (c) [ref:2]:\n<result>\nfound it\n</result>"]
    assert problems(view, context.get_messages()) == []


def test_newest_result_stays_where_a_hook_spoke_before_it(talk):
    """The newest message is not left out for one that was said while its call was open; it is cut, if it must be."""
    context = opened()
    context.append(talk.say("user", "go"))
    for number in range(20):
        name = f"c{number}"
        context.append(talk.call([name], "I look.", {"path": "a.py"}), hook(talk, f"It is {number}."))
        context.append(*talk.results([(name, f"result {number} " + "all is well\n" * 200)]))
        view = context.get_messages_for_request(token_budget=300)
        assert f"result {number} " in str(view)
        assert problems(view, context.get_messages()) == []


@pytest.mark.parametrize("system", [True, False])
def test_view_begins_with_a_user_where_the_history_did(talk, system):
    """Also where a hook began the conversation, and what it said is left out: the summary is the assistant's."""
    context = opened()
    context.append(*([talk.say("system", "Be brief.")] if system else []), hook(talk, "Look after the logs. " * 40))
    for number in range(20):
        name = f"c{number}"
        context.append(talk.call([name], "I look.", {"path": "a.py"}), *talk.results([(name, "all is well\n" * 50)]))
        view = context.get_messages_for_request(token_budget=600)
        said = [message for message in view if message.get("role") != "system"]
        assert said[0]["role"] == "user"
        assert problems(view, context.get_messages()) == []
    assert "compacted here" in str(view)


def test_summary_is_never_the_last_message(talk):
    """Where the user's first message is the newest one, the summary stands before it."""
    context = opened()
    context.append(hook(talk, "Look after the logs."))
    for number in range(20):
        name = f"c{number}"
        context.append(talk.call([name], "I look.", {"path": "a.py"}), *talk.results([(name, "all is well\n" * 50)]))
    context.append(talk.say("user", "What did you find?"))
    view = context.get_messages_for_request(token_budget=900)
    assert "compacted here" in str(view)
    assert view[-1] == talk.say("user", "What did you find?")
    assert problems(view, context.get_messages()) == []
    context.append(talk.say("assistant", "Nothing."))
    assert context.get_messages_for_request(token_budget=900)[: len(view)] == view


def test_summary_is_not_the_last_message_after_a_rewind(talk):
    """Where only what stood before the user's first message is still left out, the summary stands there."""
    context = opened()
    context.append(hook(talk, "Look after the logs. " * 300), talk.say("assistant", "I will. " * 300))
    first = context.append(talk.say("user", "What did you find?"))
    for number in range(20):
        name = f"c{number}"
        context.append(talk.call([name], "I look.", {"path": "a.py"}), *talk.results([(name, "all is well\n" * 50)]))
    assert "compacted here" in str(context.get_messages_for_request(token_budget=900))
    context.rewind(first)
    view = context.get_messages_for_request(token_budget=900)
    assert "compacted here" in str(view)
    assert view[-1] == talk.say("user", "What did you find?")
    assert next(message for message in view if message.get("role") != "system")["role"] == "user"


def test_newest_message_stays_if_a_prompt_hides_the_rest(talk):
    """Where a system prompt stands for the stored system messages, what was said before the last of these is newest."""
    context = opened()
    context.set_system_prompt_factory(lambda: "Be kind.")
    context.append(talk.say("user", "go"), talk.call(["c"], "", {"path": "a.py"}), *talk.results([("c", "found it")]))
    last = context.append(talk.say("system", "Be brief."))
    context.append(talk.say("assistant", "well " * 900), talk.say("user", "and?"))
    context.trim(keep_last=1)
    context.get_messages_for_request()
    assert states_of(context)[:3] == ["whole", "digested", "digested"]
    context.rewind(last)
    assert context.get_messages_for_request()[1:] == in_a_row(context.get_messages()[:-1])
