"""What `backscroll status` says of the next compaction."""

from backscroll import ContextManager
from backscroll.cli.stores.context_bar import coming
from tests.builders import words


def report(model):
    manager = ContextManager(model=model, budget=6_000)
    for number in range(6):
        thought = {"type": "thinking", "thinking": words(100), "signature": f"s{number}"}
        said = {"type": "text", "text": f"answer {number} {words(200)}"}
        manager.append({"role": "user", "content": f"question {number} {words(200)}"})
        manager.append({"role": "assistant", "content": [thought, said]})
    manager.append({"role": "user", "content": "And now?"})
    manager.get_messages_for_request()
    return manager.window_report()


def test_status_says_what_reasoning_a_compaction_would_cost():
    assert "tokens of reasoning lost, which the provider binds to what is edited" in coming(report("claude-opus-5-5"))


def test_status_says_nothing_of_reasoning_that_stays():
    assert "reasoning" not in coming(report("claude-opus-5"))
