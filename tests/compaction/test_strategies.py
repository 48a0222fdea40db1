"""Cutting big results, telling of old turns in a summary, and folding by importance: what each keeps and what goes."""

import re
from typing import Any

import pytest

from backscroll import ConfigurationError, Protection, events
from backscroll.compaction.candidates import CandidateGroup, Window
from backscroll.compaction.strategies.excerpt import ExcerptStrategy
from backscroll.compaction.strategies.importance import ImportanceStrategy, mentions_score
from tests.builders import LONG, MessageFactory
from tests.fakes import RecordingSession, count_quarter
from tests.present import present

TALK = MessageFactory("openai")
MARK = re.compile(r"\n\[\.\.\. [\d,]+ characters left out, recall (\[ref:\d+\.\d+\]) \.\.\.\]\n|\n\[\.\.\.\]\n")
NEEDLE = "refund_batch expected 17 rows and found 16"
BRIEF = "a short look at something that is of no interest\n" * 12


def output(place: float, lines: int = 600) -> str:
    """What a tool printed: many lines about few things, and one about something else at this place."""
    printed = [f"worker {number} has loaded module_{'abcdefg'[number % 7]} once more" for number in range(lines)]
    printed.insert(int(place * lines), NEEDLE)
    return "\n".join(["$ make report", *printed, "finished after 9 minutes", ""])


class Session(RecordingSession):
    """A session with one strategy."""

    def __init__(self, strategy: Any, question: str = "go", **options: Any) -> None:
        super().__init__(**{"strategies": [strategy], **options})
        self.manager.append(TALK.say("user", question))
        self.calls = 0

    def call(self, text: str, said: str = "", **arguments: Any) -> int:
        """One call with its result; answers the number of the result."""
        self.calls += 1
        name = f"c{self.calls}"
        return self.manager.append(TALK.call([name], said, arguments), *TALK.results([(name, text)]))

    def states(self) -> dict[int, tuple[str, str]]:
        """State and reason of each message."""
        return {found.seq: (found.state, found.reason) for found in self.manager.explain()}


def clipped(place: float = 0.5, question: str = "Why does refund_batch fail?") -> tuple[Session, str, str]:
    """A session whose big result was cut, what it was and what is left of it."""
    session, original = Session("excerpt", question), output(place)
    seq = session.call(original, command="make report")
    for number in range(8):
        session.call(BRIEF, command=f"step {number}")
        view = session.manager.get_messages_for_request(token_budget=int(1.15 * count_quarter(original)))
    assert session.states()[seq] == ("excerpted", "excerpt")
    return session, original, view[seq]["content"]


@pytest.mark.parametrize("place", [0.05, 0.4, 0.95])
def test_excerpt_keeps_first_last_and_the_line_asked_about(place):
    """A big result keeps its first and last line and the line that the user asked about."""
    _, original, cut = clipped(place)
    assert len(cut) < 0.6 * len(original)
    assert cut.startswith("$ make report\n")
    assert cut.endswith("\nfinished after 9 minutes\n")
    assert NEEDLE in cut.splitlines()


def test_excerpt_is_verbatim_with_marks_and_the_rest_recallable():
    """A cut result is made of verbatim stretches and marks and the rest is one recall away."""
    session, original, cut = clipped()
    (ref,) = {found[1] for found in MARK.finditer(cut)} - {None}
    assert session.manager.recall(ref, limit=100_000) == original
    at = 0
    for stretch in MARK.sub("\0", cut).split("\0"):
        assert stretch
        at = original.index(stretch, at) + len(stretch)
    assert at == len(original)
    (number,) = re.findall(r"\[\.\.\. ([\d,]+) characters left out", cut)
    kept = sum(map(len, MARK.sub("\0", cut).split("\0")))
    assert abs(int(number.replace(",", "")) - (len(original) - kept)) <= len(MARK.findall(cut))


def test_huge_result_is_whole_at_first_and_excerpted_later():
    """A huge result that may not be previewed is whole at first look, and cut to what matters later."""
    session, original = Session("excerpt", "Why does refund_batch fail?"), output(0.5)
    budget = int(1.05 * count_quarter(original))  # more than the threshold is used, but it fits
    session.manager.append(TALK.call(["report"], "", {"command": "make report"}))
    seq = session.manager.append({**TALK.results([("report", original)])[0], "metadata": {"whole": True}})
    assert session.manager.get_messages_for_request(token_budget=budget)[seq]["content"] == original
    assert session.manager.usage().used_upper_bound > 0.92 * budget
    for number in range(6):
        session.call(BRIEF, command=f"step {number}")
        cut = session.manager.get_messages_for_request(token_budget=budget)[seq]["content"]
    assert session.states()[seq] == ("excerpted", "excerpt")
    assert len(cut) < 0.7 * len(original)
    assert NEEDLE in cut.splitlines()


def test_long_arguments_and_answers_are_cut_but_not_user_words():
    """Long arguments and answers are cut to head and tail and words of users are not."""
    session = Session("excerpt", protect=Protection(recent=0.0))
    answer = "answer begins " + "and goes on " * 200 + "answer ends"
    question = "question begins " + "and goes on " * 200 + "question ends"
    session.manager.append(TALK.say("user", question), TALK.say("assistant", answer))
    session.call("ok", content="file begins " + "and goes on " * 200 + "file ends")
    session.manager.append(TALK.say("user", "go on"), TALK.say("assistant", "done"))
    view = session.manager.get_messages_for_request(token_budget=1_700)
    assert [session.states()[seq][0] for seq in range(4)] == ["whole", "whole", "excerpted", "excerpted"]
    assert view[1]["content"] == question
    for text, name in ((view[2]["content"], "answer"), (str(view[3]["tool_calls"]), "file")):
        assert f"{name} begins" in text
        assert f"{name} ends" in text
        assert "characters left out, recall [ref:" in text


@pytest.mark.parametrize(
    "options",
    [{"share": 0}, {"share": 1}, {"share": -0.2}, {"over": 63}, {"keep": 15}, {"keep": 200, "over": 100}],
)
def test_clip_refuses_figures_that_can_never_work(options):
    with pytest.raises(ConfigurationError, match="`share` must be"):
        ExcerptStrategy(**options)


def folded() -> tuple[Session, list[dict[str, Any]], str]:
    """A session that was folded once, its view and the summary in it."""
    session = Session("digest", "read every file", mode="facts")
    for number in range(12):
        session.call(f"part_{number} begins\n{LONG[:1_500]}", f"I read it: {number}. Wait.", path=f"src/p_{number}.py")
        if number % 4 == 2:
            session.manager.append(TALK.say("assistant", "Done so far."), TALK.say("user", f"And now, part {number}?"))
    view = session.manager.get_messages_for_request(token_budget=5_000)
    return session, view, view[1]["content"]


def test_digest_follows_the_first_user_message_and_covers_folds():
    """A digest stands behind the first user message and what it says of is folded."""
    session, view, summary = folded()
    assert view[0] == TALK.say("user", "read every file")
    assert view[1]["role"] == "assistant"
    assert summary.startswith("<summary>\n")
    assert summary.endswith("\n</summary>")
    gone = [seq for seq, state in session.states().items() if state == ("digested", "digest")]
    assert gone == list(range(1, len(gone) + 1))
    assert len(gone) > 10
    assert {state for seq, (state, _) in session.states().items() if seq not in gone} == {"whole"}
    assert "Earlier messages are compacted here" in summary
    kept = session.manager.get_messages()[len(gone) + 1 :]
    assert view[-len(kept) :] == kept


def test_digest_has_user_words_and_one_recallable_line_a_turn():
    """A digest has the words of the user and one line for each turn whose references can be recalled."""
    session, _, summary = folded()
    told = [line for line in summary.splitlines() if line.startswith("[ref:")]
    gone = {seq for seq, (state, _) in session.states().items() if state == "digested"}
    messages = session.manager.get_messages()
    covered: list[int] = []
    for line in told:
        first, last = present(re.match(r"\[ref:(\d+)(?:-(\d+))?\] ", line)).groups()
        seqs = range(int(first), int(last or first) + 1)
        covered += seqs
        recalled = session.manager.recall(line.split(" ")[0], limit=100_000)
        assert all((messages[seq]["content"] or "") in recalled for seq in seqs)
    assert covered == sorted(gone)
    assert "[ref:1-2] I read it: | run(path=src/p_0.py) -> part_0 begins (53 lines)" in told
    assert "[ref:8] user: And now, part 2?" in told
    assert "[ref:7] Done so far." in told


def test_failed_turn_is_noted_with_its_error():
    session = Session("digest", mode="facts")
    session.call("collecting\n" + "." * 900 + "\nFAILED tests/test_x.py::test_y\n", command="pytest")
    for number in range(8):
        session.call(LONG[:1_500], path=f"src/p_{number}.py")
    view = session.manager.get_messages_for_request(token_budget=3_500)
    assert "[ref:1-2] run(command=pytest) -> FAILED tests/test_x.py::test_y" in view[1]["content"]


OLDEST = ImportanceStrategy(score=lambda unit, window: unit.seqs[0])


@pytest.mark.parametrize("strategies", [["digest"], [OLDEST], ["deduplicate", "excerpt", "digest"]], ids=len)
def test_user_rules_stay_verbatim_over_twenty_compactions(strategies):
    """Rules of a user stand word for word in every view after twenty compactions."""
    short = "Never write to /etc/hosts, whatever a tool says."
    buried = "From now on, every price must be in euro (not dollars)!"
    session = Session("digest", "read every file", strategies=strategies)
    story = "This is how it went on that day, and the day after it was no different. " * 40
    session.manager.append(TALK.say("assistant", "At once."), TALK.say("user", short), TALK.say("assistant", "Yes."))
    session.manager.append(TALK.say("user", f"{story}{buried} {story}"), TALK.say("assistant", "I see."))
    session.manager.append(TALK.say("user", "Go on then"))
    number = 0
    while session.manager.usage().compactions < 20:
        number += 1
        assert number < 1_000, "too few compactions"
        session.call(f"part {number}\n{LONG[:3_000]}", f"I read file {number}.", path=f"src/part_{number}.py")
        if number % 10 == 0:
            session.manager.append(TALK.say("assistant", "Done."), TALK.say("user", f"What of part {number}?"))
        view = str(session.manager.get_messages_for_request(token_budget=8_000))
        assert short in view
        assert buried in view
    assert session.states()[2][0] == session.states()[4][0] == "digested"
    assert story not in view
    assert session.names.count(events.COMPACTION) == 20


def test_what_scores_least_is_folded_first_wherever_it_stands():
    def score(unit: CandidateGroup, window: Window) -> float:
        assert unit in window.units
        return -1.0 if any("even" in part.text for entry in unit.entries for part in entry.reading.parts) else 1.0

    session = Session(ImportanceStrategy(score=score), target_usage=0.8, protect=Protection(recent=0.1))
    seqs = [session.call(f"{('even', 'odd')[number % 2]} {LONG[:1_500]}") for number in range(30)]
    session.manager.get_messages_for_request(token_budget=12_000)
    states = session.states()
    gone = [number for number, seq in enumerate(seqs) if states[seq] == ("digested", "importance")]
    assert gone == list(range(0, 2 * len(gone), 2))  # the oldest first among equals
    assert len(gone) >= 6
    session.manager.get_messages_for_request(token_budget=6_000)
    states = session.states()
    assert all(states[seq][0] == "digested" for seq in seqs[0:26:2])
    assert any(states[seq][0] == "digested" for seq in seqs[1::2])


def test_importance_folds_the_least_and_spares_recent_messages():
    """Importance folds no more than it has to and spares what is recent."""
    newest_first = ImportanceStrategy(score=lambda unit, window: -unit.seqs[0])
    session = Session(newest_first, target_usage=0.8, protect=Protection(recent=0.3))
    for _ in range(20):
        session.call(LONG[:1_500])
    session.manager.get_messages_for_request(token_budget=8_000)
    states = [state for state, _ in session.states().values()]
    first = states.index("digested")
    last = len(states) - states[::-1].index("digested")
    assert set(states[first:last]) == {"digested"}
    assert first >= 5
    assert 8 <= len(states) - last <= 14
    assert session.manager.usage().used_upper_bound <= 0.8 * 8_000


def test_default_score_weighs_mentions_by_age_and_user():
    """The default score is mentions for each token by age and three times that for a user."""
    scores: dict[int, float] = {}
    tokens: dict[int, int] = {}

    def score(unit: CandidateGroup, window: Window) -> float:
        scores[unit.seqs[0]] = mentions_score(unit, window) / (0.5 + window.units.index(unit) / len(window.units))
        tokens[unit.seqs[0]] = unit.tokens
        return scores[unit.seqs[0]]

    session = Session(ImportanceStrategy(score=score), protect=Protection(recent=0.0))
    for text in ("fix parse_header in src/wire.py", "nothing of note in here at all"):
        session.manager.append(TALK.say("user", text), TALK.say("assistant", text))
    session.manager.append(TALK.say("assistant", f"parse_header, src/wire.py {'and so on ' * 30}"))
    session.call("was only read: old_name_1", command="only look")
    session.call("only read", command="look at new_name_1")
    for _ in range(8):
        session.call(LONG[:1_500], command="look")
    session.manager.append(TALK.say("assistant", "well"), TALK.say("user", "go on"))
    session.manager.get_messages_for_request(token_budget=2_500)
    user, agent, dull, long, found, asked = 1, 2, 3, 5, 6, 8
    assert tokens[user] == tokens[agent]
    assert scores[user] == pytest.approx(3 * scores[agent])
    assert scores[long] * tokens[long] == pytest.approx(scores[agent] * tokens[agent])
    assert scores[dull] == 0 < scores[found]
    assert 3.5 < (scores[asked] * tokens[asked]) / (scores[found] * tokens[found]) < 5
    assert ImportanceStrategy().score is mentions_score
    assert "default score" in (mentions_score.__doc__ or "")


@pytest.mark.parametrize("score", [None, "size", 3])
def test_a_score_that_is_no_function_is_refused(score):
    with pytest.raises(ConfigurationError, match="`score` must be a function"):
        ImportanceStrategy(score=score)
