"""Work of many kinds under loop-basic: whatever models and tools do, requests are valid, fit, and nothing is lost."""

import json

import pytest

from tests.integrations.amplifier.hosts.checking import assert_sound, assert_unmoved
from tests.integrations.amplifier.hosts.running import needs_hosts, report

pytestmark = [needs_hosts, pytest.mark.long]


@pytest.mark.parametrize("way", ["caching", "same_ids", "escaped", "strict"])
def test_model_that_counts_or_answers_otherwise_is_served(way):
    """Cached tokens apart, repeated ids, a count that is higher than any, and a model that refuses what is invalid."""
    life = report("work.models")[way]
    assert life["compacted_before"]
    assert life["failures"] == []
    assert_sound([life])
    assert_unmoved([life])
    assert "context:usage_rejected" not in life["counts"]


@pytest.mark.parametrize("what", ["huge", "at once", "dense", "thinking"])
def test_tool_results_of_any_size_and_kind_fit(what):
    """No result is too large, too dense or too many, and no request is refused for its length."""
    life = report("work.results")[what]
    assert life["failures"] == []
    assert_sound([life])


def test_huge_result_is_kept_whole():
    """A result of more than 735,000 characters is in the history, word for word."""
    assert report("work.results")["huge"]["longest"] > 735_000


def test_signed_thinking_stays_as_it_came():
    """Each thinking block in a request is one that the model signed."""
    life = report("work.results")["thinking"]
    assert len(life["compacted_before"]) >= 2
    assert life["altered_thinking"] == []


@pytest.mark.parametrize("says", ["24000", "40000"])
def test_refused_request_is_never_sent_again_as_it_was(says):
    """After a refusal as too long the next request is shorter, and work goes on below what was refused."""
    life = report("work.refused")[says]
    assert life["overflows"]
    assert len(life["overflows"]) == len(life["failures"]) <= 3
    for number in life["overflows"]:
        assert life["sizes"][number + 1] < 0.9 * life["sizes"][number]
    assert (life["problems"], life["history"]) == ([], "")


def test_recall_reads_what_a_request_left_out():
    """The tool is mounted in a session that has tools; by reference and by pattern it finds what is no longer shown."""
    life = report("work.recalled")
    by_reference, by_pattern, unknown = life["answers"]
    assert not life["shown"]
    assert life["log"] in by_reference
    assert "src/window_0.py" in by_pattern
    assert "nothing is kept under [ref:9999]" in unknown
    assert_sound([life])


@pytest.mark.parametrize("way", ["aside", "as a turn", "too long", "never"])
def test_summaries_stand_in_no_requests_way(way):
    """Whether a model writes summaries, fails, or never answers, each request is valid and comes at once."""
    life = report("work.summaries")[way]
    assert life["failures"] == []
    assert len(life["compacted_before"]) > 1
    assert_sound([life])
    assert life["counts"].get("context:overflow", 0) == 0
    assert life["used"][0] > 0.7 * life["newest"], "what is reported of a summary is not the conversation's"


@pytest.mark.parametrize(("way", "cached"), [("aside", False), ("as a turn", True)])
def test_summaries_by_the_sessions_model_are_sent(way, cached):
    """The session's model writes them; as one more turn each begins with a whole request that was sent."""
    life = report("work.summaries")[way]
    assert life["counts"]["context:summary_ready"] > 1
    assert "in short: All went well so far." in life["last"]
    assert life["turns_in_cache"] == [cached] * life["asked"]
    rules = [f"Never touch settings_{number}.toml." for number in range(6)]
    assert [rule for rule in rules if rule not in life["last"]] == []


@pytest.mark.parametrize("way", ["too long", "never"])
def test_summaries_that_fail_leave_the_digest(way):
    """Without a summary the digest serves."""
    life = report("work.summaries")[way]
    assert life["asked"] >= 1
    assert "in short: " not in json.dumps(life["last"])
