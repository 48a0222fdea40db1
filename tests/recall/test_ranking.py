"""One order for what any index found, and the growth of the first hits."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.recall.growth import GROWN, grown
from backscroll.recall.pages import SearchHit
from backscroll.recall.ranking import FIRST, Candidate, Ranked, rank
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


def test_grown_hits_take_in_neighbors_and_cover_them():
    text = "".join(f"line {number} of the file\n" for number in range(300))
    at = text.index("line 100 ")
    hits = [Ranked(SearchHit(3, 0, at, text[at : at + 220]), 2.0), Ranked(SearchHit(3, 0, at + 220, "x" * 20), 1.0)]
    (hit,) = grown(hits, {(3, 0): text})
    assert hit.offset <= at
    assert 220 < len(hit.text) <= GROWN
    assert text[hit.offset : hit.offset + len(hit.text)] == hit.text


def test_grown_leaves_a_hit_whose_text_is_not_known():
    hit = SearchHit(3, 0, 0, "a")
    assert grown([Ranked(hit, 1.0)], {}) == [hit]
    assert grown([Ranked(hit, 1.0)], {(3, 0): "b and more"}) == [hit]


@given(st.text("ab \n", min_size=1, max_size=4 * GROWN), st.lists(st.integers(0, 4 * GROWN), min_size=1, max_size=9))
def test_grown_hits_are_verbatim_and_never_overlap(text, starts):
    hits = [SearchHit(0, 0, at % len(text), text[at % len(text) :][:300]) for at in starts]
    found = grown([Ranked(hit, float(-number)) for number, hit in enumerate(hits)], {(0, 0): text})
    for hit in found:
        assert text[hit.offset : hit.offset + len(hit.text)] == hit.text
        assert len(hit.text) <= max(GROWN, 300)
    for hit in hits:
        assert any(other.offset <= hit.offset < other.offset + len(other.text) for other in found)


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
