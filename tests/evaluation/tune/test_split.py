"""Halves of transcripts: what is one conversation, and that none is in both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import ConfigurationError
from backscroll.evaluation.compare import inputs
from backscroll.evaluation.tune.split import LEAST, conversations_of, halves
from tests.cli.commands import as_lines
from tests.evaluation.tune.made_up import conversations

LONG = "What I found is this: the handler of part three reads a file that part one writes. " * 4


def talk(first, *answers):
    messages = [{"role": "user", "content": first}]
    for answer in answers:
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Go on."}]
    return messages


def found_in(folder):
    return conversations_of(inputs.look(inputs.listed([str(folder)]), tick=lambda name: None).sources)


def names(conversation):
    return sorted(source.path.rpartition("/")[2] for source in conversation.sources)


def grouped(folder):
    return sorted(names(one) for one in found_in(folder))


def test_split_forks_and_copies_are_one_conversation(tmp_path):
    (tmp_path / "a.jsonl").write_text(as_lines(talk("Look.", "I look.", "Done.")))
    (tmp_path / "fork.jsonl").write_text(as_lines(talk("Look.", "I look.", "It failed.")))
    (tmp_path / "other.jsonl").write_text(as_lines(talk("Look.", "I will.", "Done.")))
    assert grouped(tmp_path) == [["a.jsonl", "fork.jsonl"], ["other.jsonl"]]


def test_split_a_fork_whose_beginning_was_compacted_belongs(tmp_path):
    (tmp_path / "a.jsonl").write_text(as_lines(talk("Look.", "I look.", LONG)))
    (tmp_path / "later.jsonl").write_text(as_lines(talk("A summary of before.", LONG, "Done.")))
    (tmp_path / "other.jsonl").write_text(as_lines(talk("Look there.", "Short.", "Done.")))
    (tmp_path / "short.jsonl").write_text(as_lines(talk("Look here.", "Brief.", "Done.")))
    assert grouped(tmp_path) == [["a.jsonl", "later.jsonl"], ["other.jsonl"], ["short.jsonl"]]


def session_line(kind, content, at, **more):
    return {
        "type": kind,
        "uuid": f"u{at}",
        "parentUuid": f"u{at - 1}",
        "message": {"role": kind, "content": content},
        **more,
    }


def test_split_sub_agents_belong_to_their_session(tmp_path):
    main = [session_line("user", "Begin.", 1), session_line("assistant", "Yes.", 2)]
    side = [session_line("user", "Search.", 3, isSidechain=True), session_line("assistant", "Ok.", 4, isSidechain=True)]
    (tmp_path / "one.jsonl").write_text(as_lines([*main, *side]))
    (tmp_path / "one" / "subagents").mkdir(parents=True)
    (tmp_path / "one" / "subagents" / "agent-7.jsonl").write_text(as_lines(talk("Count.", "Three.")))
    (tmp_path / "two.jsonl").write_text(as_lines(talk("Begin again.", "No.")))
    assert grouped(tmp_path) == [["agent-7.jsonl", "one.jsonl", "one.jsonl"], ["two.jsonl"]]


def test_split_conversations_of_one_file_are_apart(tmp_path):
    talks = [{"messages": talk(f"Look at {at}.", "I look.")} for at in range(3)]
    (tmp_path / "many.jsonl").write_text(as_lines(talks))
    assert len(found_in(tmp_path)) == 3


@given(st.integers(2 * LEAST, 60), st.integers(0, 1_000), st.randoms(use_true_random=False))
def test_split_has_each_once_and_ignores_the_order(number, seed, chance):
    made = conversations(number)
    split = halves(made, seed)
    assert sorted(one.fingerprint for half in split for one in half) == sorted(one.fingerprint for one in made)
    assert 0 <= len(split.training) - len(split.held_out) <= 1
    again = list(made)
    chance.shuffle(again)
    assert halves(again, seed) == split


def test_split_by_content_and_not_by_place(tmp_path):
    for folder, order in (("a", range(14)), ("b", reversed(range(14)))):
        (tmp_path / folder).mkdir()
        for at, number in enumerate(order):
            (tmp_path / folder / f"{at}.jsonl").write_text(as_lines(talk(f"Look at {number}.", *["Yes."] * number)))
    here, there = (halves(found_in(tmp_path / folder), 3) for folder in ("a", "b"))
    assert [[one.fingerprint for one in half] for half in here] == [[one.fingerprint for one in half] for half in there]


def test_split_both_halves_have_long_and_short_conversations():
    for seed in range(20):
        split = halves(conversations(40), seed)
        training, held_out = (sum(one.requests for one in half) for half in split)
        assert abs(training - held_out) <= 20  # one of each pair
    assert len({tuple(one.fingerprint for one in halves(conversations(40), seed).training) for seed in range(20)}) == 20


def test_split_too_few_conversations_are_refused():
    with pytest.raises(ConfigurationError, match="found 11 conversations, but at least 12 are needed"):
        halves(conversations(11), 0)
