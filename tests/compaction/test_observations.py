"""The warning for hosts that send outputs of tools as messages of a user, and what marking them is worth."""

import pytest

from backscroll import BackscrollWarning, ContextManager
from tests.fakes import count_quarter

OUTPUT = "    value(1);\n" * 200


def talk(output, turns=24, budget=8_000, **more):
    """A session of an agent that calls tools in its text; return the tokens of its views."""
    sizes = []
    with ContextManager(tokenizer=count_quarter, budget=budget) as manager:
        manager.append({"role": "user", "content": "Fix it."})
        for number in range(turns):
            manager.append({"role": "assistant", "content": f"cat part_{number}.py"})
            manager.append({"role": "user", "content": f"part_{number}\n{output}", **more})
            sizes.append(sum(len(str(one)) for one in manager.get_messages_for_request()))
    return sizes


def test_long_messages_after_every_answer_warn_once():
    with pytest.warns(BackscrollWarning, match="outputs of tools") as caught:
        talk(OUTPUT)
    assert len(caught) == 1


@pytest.mark.parametrize("kind", ["observation", "typed"])
def test_marked_messages_do_not_warn(kind):
    talk(OUTPUT, metadata={"kind": kind})  # a warning would be an error


def test_long_prose_of_a_person_does_not_warn():
    talk("This is how it went on that day, and the day after it was no different. " * 40)


def test_short_messages_and_sessions_with_calls_do_not_warn():
    talk("a few words")
    with ContextManager(tokenizer=count_quarter, budget=8_000) as manager:
        call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        manager.append({"role": "user", "content": "Go."}, {"role": "assistant", "content": None, "tool_calls": [call]})
        manager.append({"role": "tool", "tool_call_id": "c", "content": "x"})
        for _ in range(24):
            manager.append({"role": "assistant", "content": "Done."}, {"role": "user", "content": OUTPUT})


@pytest.mark.filterwarnings("ignore:5 messages of the user")
def test_observations_are_cut_as_results_are():
    """An older output leaves a stub with its reference, and the newest stays whole."""
    with ContextManager(tokenizer=count_quarter, budget=4_000, strategies=["clear"]) as manager:
        manager.append({"role": "user", "content": "Fix it."})
        for number in range(30):
            manager.append({"role": "assistant", "content": f"cat part_{number}.py"})
            manager.append({"role": "user", "content": OUTPUT, "metadata": {"kind": "observation"}})
            view = manager.get_messages_for_request()
    assert view[-1]["content"] == OUTPUT
    assert any(str(one["content"]).startswith("[tool result of") for one in view)
    assert view[0]["content"] == "Fix it."


def test_observations_are_shortened_as_early_as_results_are():
    """The same outputs as results of calls make views of the same size."""
    observed, called = [], []
    with (
        ContextManager(tokenizer=count_quarter, budget=8_000) as one,
        ContextManager(tokenizer=count_quarter, budget=8_000) as other,
    ):
        for manager in (one, other):
            manager.append({"role": "user", "content": "Fix it."})
        for number in range(30):
            output = f"part_{number} = {number}\n" * 500
            cat = {"name": "cat", "arguments": f'{{"part": {number}}}'}  # equal calls would replace each other
            call = {"id": f"c{number}", "type": "function", "function": cat}
            one.append({"role": "assistant", "content": f"cat part_{number}.py"})
            one.append({"role": "user", "content": output, "metadata": {"kind": "observation"}})
            other.append({"role": "assistant", "content": f"cat part_{number}.py", "tool_calls": [call]})
            other.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
            for manager, sizes in ((one, observed), (other, called)):
                manager.get_messages_for_request()
                sizes.append(manager.usage().used_upper_bound)
    assert sum(observed) <= sum(called) * 1.1


@pytest.mark.parametrize("content", [" \n", [{"type": "text", "text": " \n"}]])
def test_blank_observation_is_sent_with_a_marker(content):
    manager = ContextManager(tokenizer=count_quarter)
    manager.append({"role": "user", "content": "go"}, {"role": "assistant", "content": "ls"})
    manager.append({"role": "user", "content": content, "metadata": {"kind": "observation"}})
    with pytest.warns(BackscrollWarning, match="empty_text"):
        view = manager.get_messages_for_request()
    assert "[empty message]" in str(view[-1]["content"])
