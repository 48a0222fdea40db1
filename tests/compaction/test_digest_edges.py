"""Corners of the digest: texts that look like its own, rewinds, patches, hooks, and what a user asked about."""

import json

import pytest

from backscroll import ContextManager
from backscroll.compaction.digest.notes import TurnFacts, brief
from backscroll.compaction.digest.shrinking import shrink
from backscroll.compaction.digest.stale_lines import removed_lines, written_values
from backscroll.compaction.digest.writer import fit_headings
from backscroll.events import RULES_EVICTED
from backscroll.history.plan import Digest, DigestContent, DigestLine, Plan
from backscroll.history.rewound_plan import until
from tests.builders import MessageFactory
from tests.fakes import RecordingSession, count_quarter


def test_a_turn_that_looks_like_a_tally_is_a_turn():
    notes = [DigestLine(1, 1, "turn", "turns: left at the corner"), DigestLine(2, 2, "turn", "read(x)")]
    assert fit_headings(notes, 5, len)[0] == [DigestLine(1, 2, "turn", "turns: said x1, read x1")]


def test_words_are_squeezed_only_where_their_rules_are_shorter():
    words = DigestLine(5, 5, "user", "Use A. Use B. Use C. Use D. Use E. Use F.")
    turns = [DigestLine(number, number, "turn", f"read(path={number}00000)") for number in (4, 6)]
    assert words in fit_headings([turns[0], words, turns[1]], 90, len)[0]


def test_words_that_are_only_rules_leave_with_the_oldest_rules():
    """Words that are nothing but rules go with the oldest rules."""
    words = [DigestLine(number, number, "user", f"Never touch file {number}.") for number in range(4)]
    kept, aside = fit_headings(words, 80, len)
    assert kept == words[2:]
    assert aside == [told for note in words[:2] for told in (note, note._replace(kind="rule"))]


def test_a_rule_stays_where_long_paths_of_turns_can_merge():
    path = "/home/user/a/very/long/path/to/some/project/src/module_file.py"
    rule = DigestLine(0, 0, "rule", "Never touch config/prod.yaml.")
    turns = [DigestLine(number, number, "turn", f"read(path={path})") for number in range(1, 8)]
    assert rule in fit_headings([rule, *turns], 110, len)[0]


def test_rule_stated_twice_appears_once():
    rules = [DigestLine(number, number, "rule", "Always run make.") for number in (1, 7)]
    assert fit_headings(rules, 1_000, len) == ([rules[1]], [])


def test_a_rewind_takes_along_what_the_digest_kept_aside():
    digest = DigestContent(
        (DigestLine(1, 2, "turn", "a"),), (), (DigestLine(2, 2, "line", "b"), DigestLine(8, 8, "line", "c")), 10
    )
    left = until(Plan((Digest(1, 9),), 1, None, digest), 4).digest
    assert (left.notes, left.reserve) == (digest.notes, (DigestLine(2, 2, "line", "b"),))


def test_what_an_edit_replaces_is_not_quoted_at_any_depth():
    arguments = json.dumps({"path": "a.py", "edits": [{"old_string": "limit = 3_000", "new_string": "limit = 4_000"}]})
    assert "3_000" not in brief(arguments)
    assert "4_000" in brief(arguments)


def test_patch_is_noted_by_the_lines_it_leaves():
    patch = "*** Update File: a.py\n@@\n same_line = 1\n-retry_limit = 3_000\n+retry_limit = 4_000\n"
    arguments = json.dumps({"patch": patch})
    assert removed_lines(arguments) == {"retry_limit = 3_000"}
    told = "\n".join(written_values(arguments)).splitlines()
    assert "retry_limit = 4_000" in told
    assert not any("3_000" in line for line in told)


def test_the_error_of_a_traceback_ends_a_turn():
    talk = MessageFactory("openai")
    manager = ContextManager(tokenizer=count_quarter)
    trace = "Traceback (most recent call last):\n  File x\nValueError: bad_value"
    manager.append(talk.call(["a"], "", {"command": "make"}), *talk.results([("a", trace)]))
    history = manager._session.history
    assert (
        TurnFacts(tuple(map(history.entry, history.branch.between(0, len(history.branch)))))
        .turn_line()
        .endswith("-> ValueError: bad_value")
    )


class Ruled(RecordingSession):
    """A session in which a user states a rule in each round."""

    def __init__(self, budget, **options):
        super().__init__(budget=budget, **options)
        self.talk = MessageFactory("openai")
        self.seqs, self.missing = [], set()

    def rounds(self, count):
        """So many more rounds; in each, every rule that left the view is reported once."""
        talk = self.talk
        for _ in range(count):
            number, before = len(self.seqs), self.missing
            reported = self.reported()
            rule = f"It went well, so here is the next one. Never touch config/prod_{number}.yaml."
            self.seqs.append(self.manager.append(talk.say("user", rule)))
            self.manager.append(talk.call([f"c{number}"], "", {"path": f"p{number}"}))
            self.manager.append(*talk.results([(f"c{number}", f"value_{number} = {number}\n" * 20)]))
            held = self.held()
            self.missing = set(range(len(self.seqs))) - set(held)
            assert self.reported() - reported == len(self.missing - before)
        return held

    def held(self):
        """The numbers of the rules that the view states."""
        view = json.dumps(self.manager.get_messages_for_request())
        return [rule for rule in range(len(self.seqs)) if f"Never touch config/prod_{rule}.yaml." in view]

    def left_out(self):
        """What was reported of rules."""
        return self.payloads(RULES_EVICTED)

    def reported(self):
        """How many rules were reported."""
        return sum(payload["rules"] for payload in self.left_out())


@pytest.mark.parametrize("mode", ["standard", "facts"])
def test_each_rule_leaving_the_view_is_reported_once(mode):
    """Each rule that leaves the view is reported once and with a compaction."""
    session = Ruled(2_000, mode=mode)
    with pytest.warns(RuntimeWarning, match="the digest of lane 'main' has no room for"):
        pinned = session.rounds(54)[:8]
    assert mode != "facts" or session.reported() == len(session.missing)  # a hand-over may bring one back
    for rule in pinned:  # what the view holds whole was not left out, whatever the digest tells
        session.manager.pin(session.seqs[rule])
    with pytest.warns(RuntimeWarning, match="has no room for"):
        assert session.rounds(24)[:8] == pinned
    assert 2 < len(session.left_out()) <= session.compactions


def test_rules_displaced_by_required_messages_return():
    """Rules that give way to what must stay are reported and come back."""
    session = Ruled(4_000)
    assert session.rounds(30) == list(range(30))
    large = session.manager.append(session.talk.say("user", "y " * 7_000))
    session.manager.pin(large)
    with pytest.warns(RuntimeWarning, match="has no room for"):
        held = session.held()
    assert session.left_out() == [{"lane": "main", "rules": 30 - len(held)}]
    session.manager.unpin(large)
    session.events.clear()
    assert session.rounds(3) == list(range(33))


def test_words_leaving_a_digest_leave_their_rules_aside():
    """Words that leave a digest with their rules leave these aside as rules."""
    words, rule = DigestLine(1, 1, "user", "All is well. Never lie."), DigestLine(1, 1, "rule", "Never lie.")
    assert shrink(DigestContent((words,), (), (), 9), 0, len, rules_too=True).reserve == (words, rule)


def folded(manager, talk):
    """The text of the view after many more turns."""
    for number in range(60):
        manager.append(talk.call([f"n{number}"], "", {"path": f"p{number}"}))
        manager.append(*talk.results([(f"n{number}", f"other_{number} = {number}\n" * 20)]))
        view = manager.get_messages_for_request()
    return json.dumps(view)


def test_a_reminder_of_a_hook_is_no_word_of_the_user():
    talk, manager = MessageFactory("openai"), ContextManager(tokenizer=count_quarter, budget=3_000)
    manager.append(talk.say("user", "begin"), talk.say("user", "Always be brief.", {"source": "hook"}))
    text = folded(manager, talk)
    assert "rule of the user" not in text
    assert "user: Always be brief." not in text


def test_line_the_user_asked_about_stays_in_a_noisy_result():
    """The line that the user asked about stays in a noisy result."""
    talk, manager = (
        MessageFactory("openai"),
        ContextManager(tokenizer=count_quarter, strategies=["excerpt"], budget=6_000),
    )
    lines = [f"{number:04} value_{number} = module_{number}.py:{number}" for number in range(600)]
    lines[200] = "check of refund_batch failed: expected 17 rows"
    manager.append(talk.say("user", "Why does refund_batch fail?"), talk.call(["a"], "", {"command": "run"}))
    manager.append(*talk.results([("a", "\n".join(lines))]))
    for number in range(10):
        manager.append(talk.call([f"s{number}"], f"step {number}", {"n": number}))
        manager.append(*talk.results([(f"s{number}", "ok\n" * 20)]))
    view = manager.get_messages_for_request(token_budget=5_000)
    assert "refund_batch failed: expected 17 rows" in json.dumps(view)
    assert manager.explain()[2].state == "excerpted"


def test_an_equal_call_whose_answer_says_less_supersedes_nothing():
    talk, manager = (
        MessageFactory("openai"),
        ContextManager(tokenizer=count_quarter, strategies=["deduplicate"], budget=4_000),
    )
    manager.append(talk.say("user", "begin"))
    for number, text in enumerate(["row of the file\n" * 300, "unchanged since last read"]):
        manager.append(talk.call([f"c{number}"], "", {"path": "a.py"}), *talk.results([(f"c{number}", text)]))
    for number in range(12):
        manager.append(talk.call([f"s{number}"], "", {"path": f"b{number}"}))
        manager.append(*talk.results([(f"s{number}", f"line {number}\n" * 90)]))
    manager.get_messages_for_request(token_budget=1_000_000)
    view = manager.get_messages_for_request(
        token_budget=int(manager.usage().used_upper_bound / 0.96)
    )  # full, and it fits
    assert "row of the file" in json.dumps(view)
