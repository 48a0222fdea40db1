"""What a query brings of statements that the user replaced: the newest first, the older ones marked."""

from backscroll import ContextManager
from tests.fakes import count_quarter

OLD, NEW = "My dentist appointment is on Monday at 9:15.", "The dentist appointment was rescheduled to Friday at 14:00."


def talk(*texts, budget=None, **options):
    """A conversation of these texts, each with an answer. With a budget its view is made, so that some are left out."""
    manager = ContextManager(tokenizer=count_quarter, **options)
    for text in texts:
        manager.append({"role": "user", "content": text}, {"role": "assistant", "content": "Noted."})
    if budget is not None:
        manager.get_messages_for_request(token_budget=budget)
    return manager


def test_replaced_statement_is_marked_and_follows():
    found = talk("Hello.", OLD, "Nice weather.", NEW).recall(query="When is my dentist appointment?")
    assert [(hit.seq, hit.replaced_by) for hit in found.hits[:2]] == [(6, None), (2, 6)]
    assert found.index(NEW) < found.index("[ref:2.0] user (replaced by [ref:6])") < found.index(OLD)


def test_newest_comes_first_although_the_view_shows_it():
    chatter = [f"What a day, number {number}. " + "So much to do. " * 8 for number in range(40)]
    manager = talk("Hello.", OLD, *chatter, NEW, budget=1_000)
    assert NEW in str(manager.get_messages_for_request(token_budget=1_000))
    hits = manager.recall(query="dentist appointment").hits
    assert [hit.text for hit in hits[:2]] == [NEW, OLD]
    assert hits[1].replaced_by is not None


def test_only_the_best_of_the_replaced_follows_directly():
    texts = [f"Ida's room is B10{number}." for number in range(5)]
    hits = talk(*texts, "Tom's room is C300.").recall(query="Ida room").hits
    assert [hit.replaced_by for hit in hits] == [None, 8, None, 8, 8, 8]


def test_results_of_tools_are_never_marked():
    manager = talk("Hello.")
    for number, day in enumerate(("Monday", "Friday")):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        manager.append({"role": "assistant", "content": None, "tool_calls": [call]})
        manager.append(
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"The dentist appointment is on {day}."}
        )
    hits = manager.recall(query="dentist appointment").hits
    assert len(hits) == 2
    assert not any(hit.replaced_by for hit in hits)


def test_remarks_with_the_same_words_come_newest_first():
    """Also where code does not recognize the newer one as a correction."""
    texts = (
        "The kitchen of flat 12 will be blue.",
        "I want the kitchen of flat 12 to be in a very dark green instead.",
    )
    hits = talk(*texts, "Nice weather.").recall(query="kitchen flat 12").hits
    assert [hit.seq for hit in hits[:2]] == [2, 0]


def test_statement_is_found_by_the_noun_for_its_verb():
    manager = talk("Ida works at Dunmore.", "Ida likes tea.", "Tom's employer left.", "Ida sings.")
    assert manager.recall(query="Who is the employer of Ida?").hits[0].seq == 0


def test_marks_are_the_same_on_the_next_page():
    texts = [f"Ida's room is B10{number}." for number in range(9)]
    manager = talk(*texts)
    first = manager.recall(query="Ida room", limit=20)
    whole = manager.recall(query="Ida room")
    second = manager.recall(query="Ida room", limit=20, offset=first.next_offset)
    assert str(whole).startswith(str(first) + str(second))
