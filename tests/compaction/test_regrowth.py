"""A lane whose budget grew is planned again: what it left out comes back, as far as the larger budget has room."""

from backscroll import ContextManager
from backscroll.compaction.modes import STANDARD
from backscroll.events import PLAN_CHANGED
from tests.builders import words

BUDGET = 4_000


def conversation(rounds=40):
    for number in range(rounds):
        yield {"role": "user", "content": f"question {number} {words(60)}"}
        yield {"role": "assistant", "content": f"answer {number} {words(100)}"}


def opened(**options):
    heard = []
    manager = ContextManager(on_event=lambda name, payload: heard.append((name, payload)), **options)
    manager.append(*conversation())
    return manager, heard


def test_larger_budget_brings_back_what_fits_newest_first():
    manager, heard = opened()
    small = manager.get_messages_for_request(token_budget=BUDGET)
    large = manager.get_messages_for_request(token_budget=2 * BUDGET)
    shown = [message for message in manager.get_messages() if message in large]
    assert len(large) > len(small)
    assert BUDGET < manager.usage().used_upper_bound <= 1.03 * STANDARD.target_usage * 2 * BUDGET
    assert shown[1:] == manager.get_messages()[-len(shown) + 1 :]  # the newest ones, behind the user's first
    assert any(name == PLAN_CHANGED and payload.get("brought_back") for name, payload in heard)


def test_plan_stays_where_the_budget_grows_by_less_than_half():
    manager, _ = opened()
    small = manager.get_messages_for_request(token_budget=BUDGET)
    assert manager.get_messages_for_request(token_budget=int(1.4 * BUDGET)) == small


def test_all_comes_back_where_all_fits_and_only_once():
    manager, heard = opened()
    manager.get_messages_for_request(token_budget=BUDGET)
    assert manager.get_messages_for_request(token_budget=100_000) == manager.get_messages()
    heard.clear()
    assert manager.get_messages_for_request(token_budget=100_000) == manager.get_messages()
    assert heard == []


def test_new_lane_with_more_room_starts_from_its_own_target():
    """The first request of a lane finds nothing in a cache, so any growth is enough."""
    manager, _ = opened()
    small = manager.get_messages_for_request(token_budget=BUDGET, lane="gpt-5.5")
    assert len(manager.get_messages_for_request(token_budget=int(1.3 * BUDGET), lane="gpt-5.4")) > len(small)


def test_growth_is_noticed_after_a_restart_and_can_be_undone(tmp_path):
    manager, _ = opened(session="s", store=tmp_path / "agent.db")
    small = manager.get_messages_for_request(token_budget=BUDGET)
    manager.close()
    again = ContextManager(session="s", store=tmp_path / "agent.db")
    large = again.get_messages_for_request(token_budget=2 * BUDGET)
    assert len(large) > len(small)
    assert again.undo_compaction()
    assert again.get_messages_for_request(token_budget=BUDGET) == small
    again.close()


def test_removed_reasoning_does_not_come_back_with_its_message():
    manager = ContextManager()
    for number in range(30):
        thought = {"type": "thinking", "thinking": words(40), "signature": f"s{number}"}
        said = {"type": "text", "text": f"answer {number} {words(100)}"}
        manager.append({"role": "user", "content": f"question {number} {words(60)}"})
        manager.get_messages_for_request(token_budget=BUDGET)
        manager.append({"role": "assistant", "content": [thought, said]})
    before = str(manager.get_messages_for_request(token_budget=BUDGET))
    large = str(manager.get_messages_for_request(token_budget=100_000))
    assert "question 2 " in large
    assert "question 2 " not in before.partition("<summary>")[0]
    assert "signature" not in large  # what was made over the smaller view went out with the edit
