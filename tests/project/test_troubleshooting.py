"""Troubleshooting is complete: every event, warning and public error has its meaning, and what to do."""

import re

import pytest

import backscroll
from backscroll import errors, events, notices
from backscroll.integrations.amplifier import hooks
from tests.project.pages import ROOT

PAGES = ROOT / "docs/troubleshooting"


def sections(page: str) -> dict[str, str]:
    """The text under each heading that is a name."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.split(r"^#{2,3} `([\w:]+)`\n", text, flags=re.MULTILINE)
    assert len(set(found[1::2])) == len(found[1::2]), "a name has two headings"
    return dict(zip(found[1::2], found[2::2], strict=True))


WARNINGS, EVENTS, ERRORS = sections("warnings.md"), sections("events.md"), sections("errors.md")


def test_every_warning_of_an_event_has_its_heading():
    assert set(WARNINGS) == set(hooks.WARNINGS) > set(events.WARNINGS)


def test_every_other_event_has_its_heading():
    assert set(EVENTS) == set(hooks.ALL) - set(hooks.WARNINGS)


def test_every_public_error_has_its_heading():
    raised = {name for name, value in vars(errors).items() if isinstance(value, type)}
    warned = {name for name, value in vars(notices).items() if isinstance(value, type)}
    assert set(ERRORS) == raised | warned
    assert set(ERRORS) <= set(backscroll.__all__)


@pytest.mark.parametrize("name", hooks.WARNINGS)
def test_page_quotes_the_text_of_each_warning(name):
    """What a user searches for: the sentence, with an ellipsis for each value."""
    quoted = re.sub(r"\{[^{}]*\}", "…", hooks.WARNINGS[name])
    shown = "\n".join(line[2:] for line in WARNINGS[name].splitlines() if line.startswith("> "))
    assert " ".join(shown.split()) == " ".join(quoted.split())


@pytest.mark.parametrize("name", [*WARNINGS, *EVENTS, *ERRORS])
def test_each_name_has_its_meaning_and_what_to_do(name):
    text = (WARNINGS | EVENTS | ERRORS)[name]
    meaning, _, to_do = text.partition("**What to do:**")
    meant = "\n".join(line for line in meaning.splitlines() if not line.startswith(">"))
    assert len(meant.split()) >= 3
    assert to_do.strip()
