"""The odd situations of real histories, in no framework's words: each adapter's tests build them in its own messages.

A situation is some turns. In each, the framework's history grows by some steps, and then the agent runs: with a new
prompt, or without one, as a program does that goes on where another one ended. A word such as `w3x` is in no other
step, so that a test finds it in a request.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

TOOL = "run_job"
CUT = '{"number": 1'
"""Arguments of a call that a limit of the answer cut off."""
WAITING = "[no result recorded]"
"""How the result of a call begins that has none."""


class Said(NamedTuple):
    """What a user, the system or the model says."""

    words: str
    role: str = "user"


class Called(NamedTuple):
    """The model calls the tool, once for each id."""

    ids: tuple[str, ...]
    arguments: str = '{"number": 1}'
    words: str = ""


class Returned(NamedTuple):
    """A result; `also`: words of the user in the same message, where the framework has such messages."""

    id: str
    value: Any
    also: str = ""


class Thought(NamedTuple):
    """Reasoning alone: the run was stopped before what it led to."""

    id: str


class Served(NamedTuple):
    """A tool that the provider runs: its call, its result, or both in one message."""

    id: str
    call: bool = True
    result: bool = True
    words: str = ""


Step = Said | Called | Returned | Thought | Served


class Turn(NamedTuple):
    """What a run finds in the framework's history, and the prompt it is given. `None`: none."""

    steps: tuple[Step, ...]
    prompt: str | None = "Go on."


class Situation(NamedTuple):
    """An odd history."""

    name: str
    turns: tuple[Turn, ...]
    shown: tuple[str, ...]
    """What the last request holds, in this order."""
    hidden: tuple[str, ...] = ()
    """What it does not hold."""


_BEGIN = Said("Run the job, w0x.")
_JOB = Called(("c1",))

SITUATIONS = (
    Situation(
        "second_result",
        (
            Turn((_BEGIN, _JOB, Returned("c1", "in progress, w1x")), None),
            Turn((Returned("c1", "all done, w2x"),), "w3x And?"),
        ),
        ("w0x", "w1x", "Later result of run_job (c1)", "w2x", "w3x"),
    ),
    Situation(
        "second_result_at_once",
        (Turn((_BEGIN, _JOB, Returned("c1", "in progress, w1x"), Returned("c1", "all done, w2x")), None),),
        ("w0x", "w1x", "Later result of run_job (c1)", "w2x"),
    ),
    Situation(
        "late_result",
        (
            Turn((_BEGIN, _JOB, Said("w1x Meanwhile, count the files.")), None),
            Turn((Returned("c1", "all done, w2x"),), "w3x And?"),
        ),
        ("w0x", WAITING, "w1x", "Later result of run_job (c1)", "w2x", "w3x"),
    ),
    Situation(
        "late_result_at_the_end",
        (
            Turn((_BEGIN, _JOB, Said("w1x Meanwhile, count the files.")), None),
            Turn((Returned("c1", "all done, w2x"),), None),
        ),
        ("w0x", WAITING, "w1x", "Later result of run_job (c1)", "w2x"),
    ),
    Situation(
        "late_result_with_words",
        (
            Turn((_BEGIN, _JOB, Said("w1x Meanwhile, count the files.")), None),
            Turn((Returned("c1", "all done, w2x", also="w3x and hurry"),), None),
        ),
        ("w0x", WAITING, "w1x", "Later result of run_job (c1)", "w2x", "w3x"),
    ),
    Situation(
        "late_result_never_asked",
        (
            Turn(
                (
                    *(_BEGIN, _JOB, Said("w1x Count first."), Said("w2x They are 7.", "assistant")),
                    *(Returned("c1", "all done, w3x"), Said("w4x Thanks.")),
                ),
                None,
            ),
        ),
        ("w0x", WAITING, "w1x", "w2x", "Later result of run_job (c1)", "w3x", "w4x"),
    ),
    Situation(
        "unknown_call",
        (Turn((_BEGIN, Said("Which one, w1x?", "assistant"), Returned("c9", "stray, w2x"))),),
        ("w0x", "w1x", "w2x"),
    ),
    Situation(
        "cut_arguments",
        (Turn((_BEGIN, Called(("c1",), CUT), Said("w1x Again, shorter."))),),
        ("w0x", "w1x"),
    ),
    Situation(
        "cut_arguments_answered",
        (Turn((_BEGIN, Called(("c1",), CUT), Returned("c1", "could not be read, w1x")), None),),
        ("w0x", "w1x"),
        (CUT, CUT.replace('"', '\\"'), WAITING),
    ),
    Situation(
        "empty_answer",
        (
            Turn(
                (_BEGIN, Said("", "assistant"), Said("w1x And?"), Said(" \n", "assistant"), Said("w2x And now?")), None
            ),
        ),
        ("w0x", "w1x", "w2x"),
    ),
    Situation(
        "empty_question",
        (Turn((_BEGIN, Said("w1x", "assistant"), Said("")), None),),
        ("w0x", "w1x", "[empty message]"),
    ),
    Situation(
        "lone_surrogate",
        (Turn((_BEGIN, _JOB, Returned("c1", "caf\udce9 w1x"), Said("half \ud83d w2x")), None),),
        ("w0x", "caf\ufffd w1x", "half \ufffd w2x"),
    ),
    Situation(
        "reasoning_alone",
        (Turn((_BEGIN, Thought("rs_1"), Said("w1x Again.")), None),),
        ("w0x", "w1x"),
        ("rs_1",),
    ),
    Situation("open_call", (Turn((_BEGIN, _JOB), None),), ("w0x", WAITING)),
    Situation(
        "open_call_then_result",
        (Turn((_BEGIN, _JOB), None), Turn((Returned("c1", "all done, w1x"),), None)),
        ("w0x", WAITING, "Later result of run_job (c1)", "w1x"),
    ),
    Situation(
        "half_answered",
        (Turn((_BEGIN, Called(("c1", "c2")), Returned("c1", "one done, w1x")), None),),
        ("w0x", "w1x", WAITING),
    ),
    *(
        Situation(f"result_is_{type(value).__name__}", (Turn((_BEGIN, _JOB, Returned("c1", value)), None),), shown)
        for value, shown in (
            ({"row": ["w1x", 1]}, ("w0x", "w1x")),
            (["w1x", "w2x"], ("w0x", "w1x", "w2x")),
            (417, ("w0x", "417")),
            (None, ("w0x",)),
        )
    ),
    Situation(
        "server_tool",
        (Turn((_BEGIN, Served("srvtoolu_1", words="w1x so it is"))),),
        ("w0x", "srvtoolu_1", "srvtoolu_1", "w1x"),
    ),
    Situation(
        "server_tool_in_two_messages",
        (Turn((_BEGIN, Served("srvtoolu_1", result=False), Served("srvtoolu_1", call=False, words="w1x so it is"))),),
        ("w0x", "srvtoolu_1", "srvtoolu_1", "w1x"),
    ),
    Situation(
        "server_call_cut",
        (Turn((_BEGIN, Served("srvtoolu_1", result=False, words="w1x I search"), Said("w2x Never mind.")), None),),
        ("w0x", "w1x", "w2x"),
        ("srvtoolu_1",),
    ),
)


def situations(*, without: Iterable[str] = ()) -> list[Any]:
    """The situations as parameters of a test, but for those that a framework or its dialect cannot hold.

    Args:
        without: Beginnings of names.
    """
    return [each for each in SITUATIONS if not each.name.startswith(tuple(without))]


def not_as_wanted(situation: Situation, sent: str) -> list[str]:
    """What is wrong with the text of the last request: words that are missing or out of order, and words too many."""
    faults, at = [], 0
    for words in situation.shown:
        found = sent.find(words, at)
        if found < 0:
            faults.append(f"{words!r} is missing behind {sent[max(0, at - 40) : at]!r}")
        at = max(at, found + len(words))
    return faults + [f"{words!r} was sent" for words in situation.hidden if words in sent]


def name_of(situation: Situation) -> str:
    """Names a test."""
    return situation.name


def changed_prefixes(requests: Sequence[Sequence[Any]]) -> int:
    """How many requests do not begin with the whole request before them."""
    return sum(list(after[: len(before)]) != list(before) for before, after in pairwise(requests))
