"""Remarks beside calls, questions with their options, short answers, and what users typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages.prose import is_go_ahead, question_in, remark, user_words
from tests.messages.prose import TEXTS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Let me check the tests.", ""),
        ("Now I'll read the parser.", ""),
        ("Good, so I\u2019ll look at the cache next:", ""),
        ("Found it: the key lacks the locale. Let me fix that.", "Found it: the key lacks the locale."),
        ("## Result\n- The lock is held twice.\n- Done.", "- The lock is held twice."),
        (
            "I'll change the order because the lock is held twice.",
            "I'll change the order because the lock is held twice.",
        ),
        ("锁被持有了两次。", "锁被持有了两次。"),
        ("The fix works as planned:\n```\nx = 1\n```", "The fix works as planned:"),
        ("", ""),
    ],
)
def test_remark_drops_sentences_that_only_announce(text, said):
    assert remark(text) == said


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("The cache is ready. It holds 100 entries.", ""),
        ("I moved the file. Should I push it?", "I moved the file. Should I push it?"),
        (
            "It works.\n\nWhich store do you want to keep for the next release of it?\n- **Redis**\n- SQLite\n",
            "Which store do you want to keep for the next release of it?\n- Redis\n- SQLite",
        ),
        (
            "1. Keep the cache\n2. Drop the cache\n\nWhich of the two do you want me to build now, before the release?",
            "1. Keep the cache\n2. Drop the cache\nWhich of the two do you want me to build now, before the release?",
        ),
        ("- moved a file\n- wrote one\n\nAll pass. Do you want me to open a pull request for the branch today?",
         "All pass. Do you want me to open a pull request for the branch today?"),
        ("It is held twice. It is freed too late.\n\nWant me to do it?", "It is freed too late.\nWant me to do it?"),
        ("It is ready. Please confirm if I may send it to all of your customers in the next hour or not.",
         "Please confirm if I may send it to all of your customers in the next hour or not."),
        ("See https://example.com/?page=2 for it.", ""),
        ("```\nwhy?\n```", ""),
        ("测试通过了。要推送吗\uff1f", "测试通过了。要推送吗\uff1f"),
    ],
)  # fmt: skip  # a table
def test_question_is_the_last_one_with_its_options(text, asked):
    assert question_in(text, 400) == asked


@given(TEXTS, st.integers(-1, 400))
def test_question_is_never_longer_than_its_room(text, room):
    assert len(question_in(text, room)) <= max(0, room)


def test_options_are_cut_alike_where_room_is_short():
    options = "\n".join(f"{number}. Option {number} with a long description of it" for number in range(1, 6))
    asked = question_in(f"Which of these should I build?\n{options}", 160)
    assert [f"{number}. Option {number}" in asked for number in range(1, 6)] == [True] * 5


@pytest.mark.parametrize(
    "text",
    ["yes", "Yes, but keep the tests", "no", "ok", "2", "b)", "option 1", "1 and 3", "fix all 5", "do it", "Go ahead!",
     "both", "the second one", "sounds good", "好的", "ja bitte", "continue", "remove it"],
)  # fmt: skip  # a table
def test_short_answers_need_their_question(text):
    assert is_go_ahead(text)


@pytest.mark.parametrize(
    "text",
    ["", "fix the parser in a.py", "Rename the class to Store", "why?", "/deploy staging", "run the tests again",
     "yes\n\nand then write a page on it", "do not touch the cache of the parser", "no idea, what is it?"],
)  # fmt: skip  # a table
def test_what_says_itself_what_it_wants_does_not(text):
    assert not is_go_ahead(text)


def test_typed_words_stay_word_for_word_where_they_fit():
    assert user_words("  Fix **this**, please.\n\n\nIt   fails.\n", 100) == "  Fix **this**, please.\n\nIt   fails."


def test_a_pasted_block_is_named_with_its_size_and_beginning():
    block = "\n".join(f"line {number} of what was pasted here" for number in range(20))
    assert user_words(f"Look:\n```\n{block}\n```\nWhat is wrong?", 2_000) == (
        "Look:\n\n(pasted block, 22 lines, begins “line 0 of what was pasted here”)\n\nWhat is wrong?"
    )


def test_what_was_typed_around_a_log_stays():
    log = "\n\n".join(f"2026-01-02T10:00:{second:02} started worker {second}" for second in range(60))
    shown = user_words(f"The worker dies.\n\n{log}\n\nFind out why, and never restart it.", 300)
    assert shown.startswith("The worker dies.\n(left out here: ")
    assert shown.endswith("”)\nFind out why, and never restart it.")


def test_a_long_list_that_was_typed_is_kept_by_its_beginnings():
    items = "\n".join(f"{number}. Wish {number}: {'and more of it ' * 8}" for number in range(1, 6))
    shown = user_words(f"Build this, please.\n\n{items}\n\nSay how long it takes.", 500)
    assert shown.startswith("Build this, please.\n1. Wish 1: and more")
    assert [f"{number}. Wish {number}" in shown for number in range(1, 6)] == [True] * 5
    assert shown.endswith("Say how long it takes.")


def test_a_gap_shorter_than_its_name_is_kept():
    shown = user_words(f"{'Words of mine. ' * 20}\n\n[1, 2]\n\n{'More words. ' * 20}\n\n{'1 2 ' * 99}", 800)
    assert "[1, 2]" in shown


def test_a_text_too_long_to_be_typed_keeps_its_ends():
    shown = user_words("First this.\n\n" + "2 1 " * 50_000 + "\n\nThen that.", 500)
    assert "First this." in shown
    assert "Then that." in shown
    assert "(left out here: 200," in shown.replace("199,", "200,")


@given(TEXTS, st.integers(-1, 900))
def test_user_words_are_never_longer_than_their_room(text, room):
    assert len(user_words(text, room)) <= max(0, room)
