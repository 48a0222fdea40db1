"""Fifty compactions in a row over real conversations, with a model that writes as much as it is let."""

import re

import pytest

from backscroll import events
from backscroll.compaction.digest.user_rules import rules_in
from backscroll.compaction.digest.writer import MOST_PROSE
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import steps
from backscroll.evaluation.summarizers import Asked, Summarizing
from backscroll.evaluation.transcript import Transcript
from backscroll.evaluation.validity import problems
from backscroll.history.plan import LINES
from backscroll.messages import read_message
from tests.fakes import count_quarter
from tests.present import present
from tests.real import RECORDINGS, needs_recordings
from tests.views import summary_in

pytestmark = needs_recordings

BUDGET = 6_000
RULE = "Never touch config/prod.yaml; the port stays 8443."
SECOND = "Always run the race detector before you say that you are done."


def greedy(times):
    """A model that writes the summary before and everything new, up to so many times the length it was asked for."""

    def write(request):
        before = request.prompt.partition("<previous_summary>\n")[2].partition("\n</previous_summary>")[0]
        lines = re.findall(r"^\[ref:\d+\] (.{,60})", request.prompt, re.MULTILINE)
        new = "\n".join(re.sub(r"[^A-Za-z]+", " ", line) for line in lines)  # a name that is cut is none
        written = f"{before}\n{new}"
        return f"<summary>{written[-int(request.max_tokens * 4 * times) :]}</summary>"

    return write


def recorded(number):
    """A long conversation of an agent at work, under two more rules of its user."""
    found = list(read(RECORDINGS / "entire" / "norm.jsonl", "norm"))[number].messages
    rule = {"role": "user", "content": f"{RULE}\n{SECOND}"}
    return [rule, {"role": "assistant", "content": "Understood."}, *(m for m in found if m["role"] != "system")]


@pytest.mark.filterwarnings("ignore:[0-9,]+ claims of a summary")
@pytest.mark.long
@pytest.mark.parametrize(("times", "share"), [(1.0, 0.8), (1.4, 0.5)])
def test_fifty_compactions_of_real_work_keep_rules_and_size(times, share):
    """After fifty compactions of real work rules and facts stand and nothing has grown."""
    messages, heard, sizes, told_by = recorded(4), [], [], {}
    manager = Summarizing(
        Asked(greedy(times)),
        tokenizer=count_quarter,
        budget=BUDGET,
        clear_at_least_tokens=None,
        on_event=lambda *e: heard.append(e),
    )
    rules: list[str] = []
    known = 0
    for step in steps(Transcript("recorded", "openai", messages), manager, BUDGET):
        assert step.view is not None
        for message in messages[known : step.before]:
            if message["role"] == "user":
                rules += rules_in(read_message(message).sure)
        known = step.before
        told = "\n".join(part.text for message in step.view for part in read_message(message).parts)
        assert [rule for rule in rules if rule not in told] == []
        plan = manager._session.lanes["main"].plan
        assert [note.text for note in plan.digest.notes if note.kind in LINES and note.text not in told] == []
        if plan.digest.notes:
            sizes.append(count_quarter(summary_in(step.view)))
            told_by[plan.number] = prose = [note for note in plan.digest.notes if note.kind == "prose"]
            assert len(prose) <= 1
            assert all(count_quarter(note.text) <= MOST_PROSE * BUDGET / 4 for note in prose)
    names = [name for name, _ in heard]
    bill = manager.bill()
    assert names.count(events.COMPACTION) >= 50
    assert len(rules) >= 5
    assert events.RULES_EVICTED not in names
    assert problems(present(step.view), messages[: step.before]) == []
    assert max(sizes) <= BUDGET * 0.45 + 100
    assert max(sizes[-len(sizes) // 3 :]) <= 1.1 * max(sizes[: len(sizes) // 2])  # it does not grow
    assert bill.calls == bill.made <= names.count(events.COMPACTION)
    assert sum(map(bool, told_by.values())) >= share * len(told_by)  # what is too long may have to go for rules
    assert RULE in told
    assert SECOND in told
