"""The judge and the prices of `benchmarks/effective_cost.py`, on a small made-up conversation."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from backscroll.evaluation.compare.pricing import TARIFFS
from backscroll.evaluation.facts import Fact

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PRICES = TARIFFS["anthropic"]
CUT = "left out"


def call(known, **arguments):
    function = {"name": "read", "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": known, "type": "function", "function": function}]}


def result(known, text):
    return {"role": "tool", "tool_call_id": known, "content": text}


TALK = [
    {"role": "user", "content": "The customer is AB-70231. Look it up."},
    call("c1", page=1),
    result("c1", "orders: XK-48113 and XK-59202, total 7,431.20"),
    call("c2", page=2),
    result("c2", "shipped from /srv/depot/north.csv"),
    {"role": "assistant", "content": "Orders XK-48113 and XK-59202 of AB-70231 left from /srv/depot/north.csv."},
]
ANSWER = len(TALK) - 1


@pytest.fixture
def parts(monkeypatch):
    """The modules of the benchmark, which live outside the packages."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from effective import judging, pricing, report

    yield SimpleNamespace(judging=judging, pricing=pricing, report=report)
    for name in [name for name in sys.modules if name.split(".")[0] in ("effective", "peers", "page")]:
        del sys.modules[name]


def without(*cut):
    return [{**message, "content": CUT} if at in cut else message for at, message in enumerate(TALK[:ANSWER])]


def judged(parts, view, answer=None):
    """The bill of the last request, with what a recall answers."""
    judge = parts.judging.Judge(parts.judging.History(TALK, len), budget=100_000)
    asked = []

    def recall(words):
        asked.append(words)
        return None if answer is None else ("recall", {"query": words}, answer)

    judge.request(ANSWER, view, recall)
    return judge.bill, asked


def test_a_view_with_everything_lacks_nothing(parts):
    bill, asked = judged(parts, TALK[:ANSWER])
    assert (bill.facts, bill.missing, bill.misses, bill.short, bill.recalls) == (5, 0, 0, 0, 0), (
        "a path and its file are two"
    )
    assert asked == []


def test_facts_of_one_message_are_one_miss(parts):
    bill, _ = judged(parts, without(2))
    assert (bill.missing, bill.misses, bill.said) == (2, 1, 0)
    assert bill.again_result_tokens == len(TALK[2]["content"]) + 4
    bill, _ = judged(parts, without(2, 4))
    assert (bill.missing, bill.misses, bill.short, bill.again) == (4, 2, 1, 1)


def test_what_no_tool_gave_has_to_be_said_again(parts):
    bill, _ = judged(parts, without(0))
    assert (bill.missing, bill.misses, bill.said, bill.direct_said) == (1, 1, 1, 1)


def test_a_recall_that_brings_all_spares_the_tools(parts):
    bill, asked = judged(parts, without(2), "found: XK-48113, XK-59202")
    assert (bill.recalls, bill.brought, bill.again, bill.again_result_tokens) == (1, 2, 0, 0)
    assert bill.recall_answer_tokens == len("found: XK-48113, XK-59202")
    assert "XK" not in asked[0], "nobody asks for what is missing by its own words"
    assert "Orders" in asked[0]


def test_a_recall_that_brings_a_part_is_paid_for_too(parts):
    bill, _ = judged(parts, without(2), "found: XK-48113")
    assert (bill.recalls, bill.brought, bill.again, bill.misses) == (1, 1, 1, 1)
    assert bill.again_result_tokens == bill.direct_result_tokens > 0


def test_longer_ids_do_not_bring_shorter_ones(parts):
    bill, _ = judged(parts, without(2), "found: XK-481130, XK-592021")
    assert bill.brought == 0


def test_the_newest_result_with_a_fact_is_run_again(parts):
    talk = [*TALK[:ANSWER], call("c3"), result("c3", "again XK-48113, with more around it"), TALK[ANSWER]]
    history = parts.judging.History(talk, len)
    assert history.source(Fact("XK-48113", "id"), len(talk) - 2) == 6
    assert history.source(Fact("XK-59202", "id"), len(talk) - 2) == 2


def test_what_begins_alike_is_read_from_the_cache(parts):
    judge = parts.judging.Judge(parts.judging.History(TALK, len), budget=100_000)
    judge.request(1, TALK[:1], lambda words: None)
    judge.request(3, TALK[:3], lambda words: None)
    weights = judge._history.weights
    assert judge.bill.sent_tokens == 2 * weights[0] + weights[1] + weights[2]
    assert judge.bill.kept_tokens == weights[0]


def test_prices_are_those_of_the_parts(parts):
    bill = parts.judging.Bill(
        requests=10, sent_tokens=1_000, kept_tokens=600, summary_input_tokens=50, summary_output_tokens=10, misses=4,
        recall_view_tokens=200, recall_call_tokens=10, recall_answer_tokens=100, again_view_tokens=100,
        again_call_tokens=20, again_result_tokens=300, said=1, direct_view_tokens=200, direct_call_tokens=30,
        direct_result_tokens=400, direct_said=2,
    )  # fmt: skip
    policy, pricing = parts.pricing.Policy, parts.pricing
    assert pricing.sent(bill, PRICES) == pytest.approx(400 * 1.25 + 600 * 0.1 + 50 + 10 * 5)
    recalls, again = 20 + 50 + 110 * 1.25, 10 + 100 + 320 * 1.25
    assert pricing.fetched(bill, PRICES, policy()) == pytest.approx(recalls + again)
    assert pricing.fetched(bill, PRICES, policy(lost=1_000)) == pytest.approx(recalls + again + 1_000)
    assert pricing.fetched(bill, PRICES, policy(recall=False)) == pytest.approx(20 + 150 + 430 * 1.25)
    assert pricing.at_price(bill, PRICES, 100) == pytest.approx(pricing.sent(bill, PRICES) + 400)


def test_the_crossing_is_where_both_cost_the_same(parts):
    def bill(tokens, misses):
        return parts.judging.Bill(requests=10, sent_tokens=tokens, misses=misses)

    ours, cheap, dear, worse = bill(10_000, 2), bill(6_000, 12), bill(20_000, 0), bill(12_000, 5)
    price = parts.pricing.crossing(ours, cheap, PRICES)
    assert price == pytest.approx(4_000 * 1.25 / 10)
    assert parts.pricing.at_price(ours, PRICES, price) == pytest.approx(parts.pricing.at_price(cheap, PRICES, price))
    assert parts.report.where_cheaper(ours, cheap) == "less than 500"
    assert parts.report.where_cheaper(ours, dear) == "more than 6,250"
    assert parts.report.where_cheaper(ours, worse) == "nothing: never"
    assert parts.report.where_cheaper(worse, ours) == "anything"


def test_ratios_are_of_sums_and_their_ranges_hold_them(parts):
    ours = {"a": (100.0, 10.0), "b": (900.0, 30.0), "c": (50.0, 10.0)}
    twice = {name: (2 * cost, requests) for name, (cost, requests) in ours.items()}
    assert parts.pricing.ratio(twice, ours) == (2.0, 2.0, 2.0)
    other = {**ours, "b": (300.0, 30.0)}
    share = parts.pricing.ratio(other, ours)
    assert share.value == pytest.approx(450 / 1_050)
    assert share.low < share.value < share.high == 1.0


def test_only_what_all_have_is_compared(parts):
    rows = [
        {"set": "x", "name": name, "budget": 1, "who": who}
        for who, names in {"ours": "ab", "lean": "bc"}.items()
        for name in names
    ]
    assert {who: [row["name"] for row in own] for who, own in parts.report.complete(rows, 1).items()} == {
        "ours": ["b"],
        "lean": ["b"],
    }


@pytest.mark.long
def test_our_own_contenders_are_measured_without_peers(parts, tmp_path):
    from effective.contenders import contender
    from peers.exact import tokens

    talk = [
        {"role": "user", "content": "Read the files."},
        *(
            one
            for n in range(60)
            for one in (
                call(f"c{n}", page=n),
                result(f"c{n}", f"{('harbour crane', 'pumps')[n != 1]}: ORDER-{n}X " + "words " * 90),
            )
        ),
        {"role": "assistant", "content": "The harbour crane is in ORDER-1X."},
    ]
    bills = {
        known: parts.judging.replay(parts.judging.History(talk, tokens), contender(known), 2_000, tmp_path)
        for known in ("ours", "truncate", "whole")
    }
    assert bills["whole"].missing == 0 < bills["truncate"].misses
    assert bills["truncate"].brought == bills["truncate"].missing
    assert bills["ours"].over == 0 < bills["whole"].over
