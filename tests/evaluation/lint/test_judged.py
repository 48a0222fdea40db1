"""Findings on real transcripts, each judged by hand: `judged.json` has rule, transcript, place, verdict and reason."""

import json
from pathlib import Path

from tests.evaluation.lint.sample import IN_ALL, chosen, findings
from tests.real import RECORDINGS, needs_recordings

JUDGED = json.loads(Path(__file__).with_name("judged.json").read_text("utf-8"))


def test_every_verdict_says_that_the_finding_is_right() -> None:
    assert {each["verdict"] for each in JUDGED["findings"]} == {"right"}
    assert all(each["reason"] for each in JUDGED["findings"])


@needs_recordings
def test_findings_on_real_transcripts_are_the_judged_ones() -> None:
    """A finding that is new or gone has to be judged before it is put into the list or taken out."""
    talks = chosen(RECORDINGS)
    assert [talk.name for talk in talks] == JUDGED["transcripts"]
    assert len(talks) == IN_ALL
    found = [(each.rule, each.name, str(each.place)) for each in findings(talks)]
    judged = [(each["rule"], each["transcript"], each["place"]) for each in JUDGED["findings"]]
    assert sorted(found) == sorted(judged)
