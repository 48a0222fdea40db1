"""One order for what any index found."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.recall.pages import SearchHit
from backscroll.recall.ranking import FIRST, Candidate, Pool, rank
from tests.fakes import count_quarter


def candidates(*texts, context=""):
    return [Candidate(SearchHit(seq, 0, 0, text), context) for seq, text in enumerate(texts)]


def order(query, found, in_view=()):
    return [each.hit.seq for each in rank(query, found, in_view, 80)]


def test_rank_puts_a_rare_word_before_common_ones():
    found = candidates(*["the port is set here"] * 1, *[f"the port of {number}" for number in range(9)], "the quartz")
    assert order("the port quartz", found)[0] == 10


def test_rank_does_not_depend_on_the_order_of_candidates():
    """Indexes give candidates in orders of their own, and ranking makes one of them."""
    chance = random.Random(5)
    words = [f"w{number}" for number in range(60)]
    found = candidates(*(" ".join(chance.choices(words, k=30)) for _ in range(80)))
    expected = rank("w1 w2 w3_w4", found, (), 80)
    for _ in range(5):
        chance.shuffle(found)
        assert rank("w1 w2 w3_w4", found, (), 80) == expected


def test_rank_counts_a_context_as_words_of_the_passage():
    found = [
        *candidates("host=10.0.0.7", context="read_file mail.ini"),
        *candidates("x", "mail of others and more")[1:],
    ]
    assert order("mail.ini", found)[0] == 0


def test_rank_gives_each_part_of_a_request_a_first_hit():
    """Many passages match the first half of a request; the source of the second half is still among the first."""
    lamps = [f"desk lamp black metal number {number} of the shop {number * 7}" for number in range(12)]
    found = candidates(*lamps, "chair of oak")
    assert 12 in order("desk lamp black metal chair", found)[:FIRST]


def test_rank_shows_the_newest_of_near_duplicates_once():
    before = "order 17 of anna with lamp chair table desk shelf and bed is pending now"
    after = before.replace("pending", "shipped")
    others = [f"order {number} of berta with a box" for number in range(20, 28)]
    assert order("order anna lamp chair", candidates(before, *others, after))[0] == 9
    assert 0 not in order("order anna lamp chair", candidates(before, *others, after))[:FIRST]


def test_rank_scores_what_is_next_to_a_good_passage_higher():
    text = "alpha one\nbeta two\n"
    good = Candidate(SearchHit(0, 0, 0, text[:10]), "")
    near = Candidate(SearchHit(0, 0, 10, text[10:]), "")
    far = Candidate(SearchHit(5, 0, 0, "beta three\n"), "")
    scores = {each.hit.text: each.score for each in rank("alpha beta", [far, near, good], (), 9)}
    assert scores["beta two\n"] > scores["beta three\n"]


def test_rank_gives_first_hits_of_different_messages():
    crowd = [Candidate(SearchHit(0, 0, 100 * at, f"lamp lamp table number {at}\n"), "") for at in range(9)]
    others = [Candidate(SearchHit(seq, 0, 0, f"lamp of message {seq}\n"), "") for seq in range(1, FIRST + 1)]
    found = order("lamp table", [*crowd, *others])
    assert len(set(found[:FIRST])) == FIRST
    assert sorted(found) == sorted(each.hit.seq for each in (*crowd, *others))


def test_rank_puts_what_the_view_shows_last():
    found = candidates("the port is 1", "port port port")
    assert order("port", found, ["port port port"])[-1] == 1


def test_rank_puts_the_one_with_words_before_what_followed():
    """The view shows the only passage with a word of the query; what followed it in the session has none."""
    pool = Pool("prod.yaml")
    pool.add(candidates("never touch prod.yaml", *[f"value {number}" for number in range(5)]))
    first, *_ = pool.ranked(["never touch prod.yaml"], 80, {0: range(1, 6)})
    assert first.hit.seq == 0


def test_ranked_lifts_what_followed_words_of_the_user():
    """A result that has no word of the query comes before passages with its common words."""
    said, result = (
        Candidate(SearchHit(3, 0, 0, "case 15: look up Omega"), ""),
        Candidate(SearchHit(5, 0, 0, "OMEG 7"), ""),
    )
    others = [Candidate(SearchHit(10 + at, 0, 0, f"the case of number {at}"), "") for at in range(9)]
    pool = Pool("case 15: buy it")
    pool.add([*others, result, said])
    assert [each.hit.seq for each in pool.ranked((), 3, {3: range(4, 7)})][:2] == [3, 5]
    assert pool.ranked((), 80)[-1].hit.seq == 5


# -- what was added is found --

LETTERS = st.text("bcdfgklmnprtvz", min_size=5, max_size=9)
SHAPES = {
    "camel": lambda one, two: one + two.capitalize(),
    "snake": lambda one, two: f"{one}_{two}",
    "dotted": lambda one, two: f"{one}.{two}",
    "path": lambda one, two: f"src/{one}/{two}.py",
}


def holding(kind, rare, filler):
    """A text that mentions a rare name among common words."""
    if kind == "json":
        rows = [{"id": number, "name": f"entry {number}", "note": "common words"} for number in range(60)]
        rows[filler % 60]["note"] = rare
        return json.dumps(rows)
    lines = [f"common line {number} of the text" for number in range(80)]
    lines[filler % 80] = f"here {rare} is set"
    return "\n".join(lines)


@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(["json", "text"]),
    LETTERS,
    LETTERS,
    st.integers(0, 11),
    st.integers(0, 99),
    st.booleans(),
)
def test_what_was_added_is_found_by_its_rare_words(shape, kind, one, two, place, filler, whole):
    """What the view left out is in the first five hits, by a name whole or in parts, in text and in JSON on a line."""
    rare = SHAPES[shape](one, two)
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    for number in range(12):
        said = holding(kind, rare if number == place else f"nothing {number}", filler + number)
        manager.append({"role": "user", "content": said})
    view = manager.get_messages_for_request(token_budget=3_000)
    hits = manager.recall(query=f"where is {rare if whole else f'{one} {two}'} set").hits
    assert rare in json.dumps(view) or any(rare in hit.text for hit in hits[:FIRST])
    manager.close()


def work(number, said, call, result):
    """One turn: the user's words, a call, its result, and a word of the assistant."""
    asked = {"id": f"c{number}", "type": "function", "function": {"name": "look_up", "arguments": json.dumps(call)}}
    return [
        {"role": "user", "content": said},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)},
        {"role": "assistant", "content": "Done."},
    ]


def test_recall_finds_a_result_by_the_words_that_led_to_it():
    """The user names the case and neither the company nor its symbol, which only the result has."""
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    for number in range(30):
        said = f"Case {number}: please have a look at the company of customer {number * 3} for me"
        manager.append(*work(number, said, {"account": number * 7_919}, {"symbol": f"SYM{number * 31}", "n": number}))
    manager.append({"role": "user", "content": "That is all of it."})
    manager.get_messages_for_request(token_budget=600)
    page = manager.recall(query="Case 4: buy a hundred shares at the market price", limit=300)
    assert "SYM124" in page
    assert "SYM341" not in page
    manager.close()


def test_recall_does_not_repeat_itself_among_what_followed():
    """The answer of an earlier recall follows the user's words as well, and is no hit."""
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    manager.append({"role": "user", "content": "Case 4: what is the symbol?"})
    call = {"id": "r", "type": "function", "function": {"name": "recall", "arguments": json.dumps({"query": "case 4"})}}
    manager.append({"role": "assistant", "content": "", "tool_calls": [call]})
    manager.append({"role": "tool", "tool_call_id": "r", "content": "an echo of a page"})
    manager.append({"role": "user", "content": "Something else."})
    assert "an echo" not in manager.recall(query="Case 4")
    manager.close()


@pytest.mark.parametrize("indent", [None, 1])
def test_value_in_json_is_found_by_the_name_above_it(indent):
    """A request names the product; the variant that fits it lies in another passage of the same result."""
    manager = ContextManager(tokenizer=count_quarter, strategies=["truncate"])
    for name in ("Desk Lamp", "Oak Chair", "Water Bottle", "Coffee Maker", "Air Purifier", "Wall Clock", "Garden Hose"):
        variants = {
            str(at + number_of(name)): {"options": {"size": size, "color": color}, "price": at}
            for at, (size, color) in enumerate((size, color) for size in SIZES for color in COLORS)
        }
        manager.append({"role": "user", "content": json.dumps({"name": name, "variants": variants}, indent=indent)})
    wanted = str(number_of("Air Purifier") + len(COLORS) * 2 + 1)  # medium, blue
    hits = manager.recall(query="exchange the air purifier for a medium blue one").hits
    assert any(f'"{wanted}"' in hit.text for hit in hits[:FIRST])
    manager.close()


SIZES, COLORS = ("tiny", "small", "medium", "large", "huge"), ("red", "blue", "green", "black", "white", "gray")


def number_of(name):
    return sum(map(ord, name)) * 1_000
