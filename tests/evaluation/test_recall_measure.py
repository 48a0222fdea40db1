"""Recall and reachable recall: worked out by hand, against a slow form of themselves, on made-up and real talk."""

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backscroll.errors import BudgetError
from backscroll.evaluation.facts import Fact, facts, occurs, readable_text
from backscroll.evaluation.readers import read
from backscroll.evaluation.retention import Needs
from backscroll.evaluation.run import Weigher, backscroll_manager, replay
from backscroll.evaluation.transcript import Transcript
from backscroll.tokens.engines import resolve
from tests.builders import MessageFactory
from tests.evaluation import slow_recall
from tests.evaluation.messages import anthropic_call, calls, said, tool, user
from tests.real import RECORDINGS, needs_recordings


def known(text):
    return {fact.text: fact.kind for fact in facts(said(text))}


# What a fact is


def test_each_kind_of_fact_is_known():
    text = (
        "See https://example.org/a?b=1, ask ann@example.org about 123e4567-e89b-12d3-a456-426614174000 of 2026-01-31 "
        "in src/app/main.py and setup.cfg at 0badf00d: AB-1234 costs 12,500 or 3.25, says `parse_value` of HTTPServer "
        'and "no such table".'
    )
    assert known(text) == {
        "https://example.org/a?b=1": "url",
        "ann@example.org": "email",
        "123e4567-e89b-12d3-a456-426614174000": "uuid",
        "2026-01-31": "date",
        "src/app/main.py": "path",
        "main.py": "file",
        "setup.cfg": "file",
        "0badf00d": "hex",
        "AB-1234": "id",
        "12,500": "number",
        "3.25": "number",
        "parse_value": "name",
        "HTTPServer": "name",
        "no such table": "quote",
    }


@pytest.mark.parametrize("text", ["and/or", "in 2024", "1.0", "README.md", "hello", "x_y", "a plain word", "stdout"])
def test_what_anybody_could_have_guessed_is_none(text):
    assert known(text) == {}


def test_replaced_lines_are_facts_and_inserted_ones_are_not():
    """Lines that an edit replaces are facts and those it puts there are not."""
    asked = {"old_string": "    return total / len(values)\n}", "new_string": "    return mean(values or [0])"}
    found = facts(calls("c", arguments=json.dumps(asked)))
    assert [fact for fact in found if fact.kind == "line"] == [Fact("return total / len(values)", "line")]


def test_of_many_facts_a_fixed_sample_counts():
    found = facts(said(" ".join(f"name_{number}" for number in range(500))))
    assert len(found) == 60
    assert found == facts(said(" ".join(f"name_{number}" for number in reversed(range(500)))))


def test_dialects_are_read_alike():
    assert readable_text(anthropic_call("c")).strip() == readable_text(calls("c")).strip()


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "bedrock", "amplifier"])
def test_needs_are_the_same_in_every_dialect(dialect):
    talk = MessageFactory(dialect)
    asked = {"path": "src/main.py", "old_string": "total = count + offset"}
    read = [talk.call(["a"], "", {"path": "src/main.py"}), *talk.results([("a", "12\ttotal = count + offset\n")])]
    edit = [talk.call(["b"], "", asked), *talk.results([("b", "done")])]
    needs = Needs([talk.say("user", "Look into src/main.py."), *read, *edit])
    found = [{need.fact.text: need.last for need in needs.at(at)} for at in (1, 3)]
    both = {"src/main.py": 0, "main.py": 0}
    assert found == [both, {"src/main.py": 1, "main.py": 1, "total = count + offset": 2}]


def test_the_last_mention_before_a_message_counts():
    needs = Needs([user("one_fact"), said("x"), user("one_fact"), said("one_fact"), user("y"), said("one_fact")])
    assert [[need.last for need in needs.at(at)] for at in (1, 3, 5)] == [[], [2], [3]]


def test_names_of_called_tools_are_no_facts():
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    asking = {"role": "assistant", "content": "read_file of other_fact", "tool_calls": [call]}
    assert [need.fact.text for need in Needs([user("other_fact, read_file"), asking]).at(1)] == ["other_fact"]


def test_reasoning_is_no_use_of_a_fact():
    blocks = [{"type": "thinking", "thinking": "max_tokens?", "signature": "s"}, {"type": "text", "text": "min_tokens"}]
    assert [fact.text for fact in facts({"role": "assistant", "content": blocks})] == ["min_tokens"]


def test_arguments_may_be_nested_deeply_or_be_free_text():
    for arguments in ("[" * 900 + '"one_fact"' + "]" * 900, "[" * 90_000 + "one_fact"):
        assert [fact.text for fact in facts(calls("c", arguments=arguments))] == ["one_fact"]


def test_a_fact_stands_by_itself_or_not_at_all():
    name, number = Fact("a_name", "name"), Fact("1234", "number")
    assert occurs(name, "(a_name)")
    assert not occurs(name, "a_names, an_a_name")
    assert occurs(number, "1234, 5")
    assert not occurs(number, "1234,567 0.1234 1234.5")


@pytest.mark.parametrize("unit", ["a", "a-", "a.", "A-", "1", "/", "./", "a/", "~", "@", "a@", "0,", "_", "-a.b", "a1"])
def test_long_runs_cost_no_square(unit):
    def spent(text):
        start = time.process_time()
        known(text)
        return time.process_time() - start

    # eight times as long: a square would take 64 times as long; the least of three, as a machine may be busy
    few, many = (min(spent(unit * times) for _ in range(3)) for times in (2_000, 16_000))
    assert many < 30 * max(few, 0.005)


# By hand: one token a character


class Holder:
    """Gives views and answers that a test sets."""

    def __init__(self, view, answers=None):
        self.view, self.answers, self.asked = view, answers or {}, []

    def append(self, message):
        pass

    def get_messages_for_request(self, token_budget=None):
        if self.view is None:
            raise BudgetError("too small")
        return self.view

    def recall(self, reference):
        self.asked.append(reference)
        return self.answers[reference]


PAST = "The parser lives beside the lexer in src/core/parse.py since last spring."
TALK = [user("Start here."), said(PAST), user("x" * 300), said("I open src/core/parse.py, the parser module, now.")]


def measured(talk, holder, budget=200):
    return replay(Transcript("t", "openai", talk), budget=budget, tokenizer=len, make_manager=lambda *_: holder)


def test_a_fact_in_its_context_is_recalled():
    found = measured(TALK, Holder([user("Start here."), said(PAST)]))
    assert (found.requests, found.facts, found.far_facts) == (2, 2, 2)  # the path, and the file's name in it
    assert (found.recall, found.reachable, found.far_recall, found.far_reachable) == (1, 1, 1, 1)


def test_bare_list_of_names_recalls_nothing():
    """A bare list of names recalls nothing though it can be read there."""
    found = measured(TALK, Holder([user("src/core/parse.py")]))
    assert (found.recall, found.reachable) == (0, 1)


def test_one_recall_of_the_reference_that_names_what_comes_next():
    stub = "[out: parser module, see [ref:1]]\n"
    holder = Holder([user(stub), said("[out: weather report, see [ref:7]]")], {"1": PAST, "7": "rain"})
    found = measured(TALK, holder)
    assert holder.asked == ["1"]
    assert (found.recall, found.reachable) == (0, 1)


def test_only_the_beginning_of_a_long_answer_counts():
    holder = Holder([user("parser module: [ref:1]")], {"1": "y" * 5_000 + PAST})
    assert measured(TALK, holder).reachable == 0


def test_what_looks_like_a_reference_and_is_none_is_no_error():
    assert measured(TALK, Holder([user("parser module: [ref:99]")])).reachable == 0


def test_a_refused_request_kept_nothing():
    found = measured(TALK, Holder(None))
    assert (found.facts, found.recall, found.reachable) == (2, 0, 0)


def test_below_the_budget_nothing_is_asked_for():
    found = measured(TALK, Holder([user("nothing")]), budget=10_000)
    assert (found.facts, found.recall, found.reachable, found.far_recall) == (0, None, None, None)


def test_system_prompt_and_tools_contribute_no_facts():
    talk = [{"role": "system", "content": "Work in src/core/parse.py."}, *TALK]
    assert measured(talk, Holder(TALK)).facts == 0


# Against the slow form


def agrees(messages, budget, chain):
    count = resolve("auto").count
    weigh = Weigher(count)
    make = backscroll_manager(chain, None)
    slow = slow_recall.recalls(messages, make(budget, lambda *_: None), budget, weigh, count)
    fast = replay(Transcript("t", "openai", messages), budget=budget, strategies=chain)
    both = [fast.facts, fast.recall, fast.reachable, fast.far_facts, fast.far_recall, fast.far_reachable]
    assert both == pytest.approx(slow, abs=1e-12)
    return fast


def test_made_up_work_agrees_with_the_slow_form():
    messages = [user("Read all files, then fix `parse_value` in src/app/core.py.")]
    for at in range(40):
        asked = json.dumps({"path": f"src/app/part_{at % 9}.py", "limit": 1000 + at})
        text = f"def handler_{at}(value):\n    return lookup_{at * 7 % 40}(value, {5000 + at})\n" + "filler words " * 60
        messages += [calls(f"c{at}", arguments=asked), tool(f"c{at}", text), said(f"handler_{at // 2} is in part_3.py")]
        messages += [user("Go on.")]
    for chain in (None, ["clear"], ["truncate"]):
        found = agrees(messages, 3_000, chain)
        assert 0 < found.recall <= found.reachable <= 1
        assert found.far_facts > 0


TEXTS = st.lists(
    st.sampled_from(
        "src/a/b.py ./x/y ~/etc/z.cfg /a/b a@b.org http://h.x/y,z. 2024-01-02T10:20 2024-01-02.55 deadbeef1 AB-12-CD "
        '1,234.5 1234,5 12.345 snake_case camelCase f.tar.gz x.md-y.md a..b.py --flag.toml "two words" `one two` é_ab '
        "[ref:1] 99 ab../c foo~/bar/baz $dollar_x A-A-1 \n . , / - word".replace('"two words"', '"two_words').split(" ")
    ),
    max_size=12,
)


@given(TEXTS, st.sampled_from(["", " ", "\n", "/", ".", '"', "`"]))
@example(["a@b.org", "snake_case", "a@b.org"], "")
def test_the_same_facts_as_the_slow_form(words, between):
    message = said(between.join(words))
    assert {fact.text: fact.kind for fact in facts(message)} == dict(slow_recall.facts(message))
    text = " ".join(words)
    assert all(occurs(fact, text) == slow_recall.occurs(fact, text) for fact in facts(message))


@needs_recordings
@pytest.mark.filterwarnings(r"ignore:\d+ messages of the user in a row")  # these recordings mark no observations
@pytest.mark.parametrize(
    ("name", "budget"), [("tau/norm.jsonl", 4_000), ("sweagent/norm.jsonl", 4_000), ("whowhen/norm.jsonl", 8_000)]
)
def test_real_transcripts_agree_with_the_slow_form(name, budget):
    messages = max([one.messages for one in read(RECORDINGS / name)], key=lambda found: len(str(found)))
    assert agrees(messages, budget, None).facts > 10
