"""`Summarizer(instructions=...)`: in the prompt, and in the author of each summary."""

import re

import pytest

from backscroll import ConfigurationError, Summarizer, events
from backscroll.stores.memory import MemoryStore
from tests.compaction.summarizing import SummarizedSession, begin_summarized
from tests.fakes import ScriptedSummarizer
from tests.present import present

KEEP = "Keep every name of a protein, and {braces} as they are."
AUTHOR = re.compile(r"a model, prompt 1 with instructions [0-9a-f]{8}")


@pytest.mark.parametrize("reuse_prefix", [False, True])
def test_instructions_are_in_each_prompt_after_our_own(reuse_prefix):
    model = ScriptedSummarizer()
    watched = begin_summarized(None, summarizer=Summarizer(model, instructions=KEEP, reuse_prefix=reuse_prefix))
    watched.rounds(30)
    assert model.requests
    for request in model.requests:
        given = request.prompt if request.messages else request.system
        assert given.index("tokens long.") < given.index(KEEP)


def test_author_names_the_instructions_after_a_restart_too():
    store = MemoryStore()
    watched = begin_summarized(
        None, summarizer=Summarizer(ScriptedSummarizer(), instructions=KEEP), session="s", store=store
    )
    watched.rounds(30)
    author = present(watched.manager.usage().summarized_by)
    assert AUTHOR.fullmatch(author)
    assert any(author in found.reason for found in watched.manager.explain())
    watched.manager.close()
    assert SummarizedSession(None, session="s", store=store).manager.usage().summarized_by == author
    assert watched.payloads(events.SUMMARY_READY)


def test_author_without_instructions_is_as_before():
    watched = begin_summarized(ScriptedSummarizer())
    watched.rounds(30)
    assert watched.manager.usage().summarized_by == "a model, prompt 1"


@pytest.mark.parametrize("wrong", ["", "  ", 3, b"keep", "x" * 16_385])
def test_instructions_that_cannot_be_are_refused(wrong):
    with pytest.raises(ConfigurationError, match="`instructions`"):
        Summarizer(ScriptedSummarizer(), instructions=wrong)
