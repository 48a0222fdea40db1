"""A step costs the same at any length of the history."""

from typing import Any

import pytest

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.following import COMPARED
from tests.fakes import CountingTokenizer
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import handler_of
from tests.integrations.litellm.recorder import Recorder, turns

pytestmark = OURS


class Read(dict[str, Any]):
    """A message that counts how often it is read."""

    times = 0

    def items(self) -> Any:
        Read.times += 1
        return super().items()


def costs(number: int) -> tuple[int, int]:
    """Messages read and characters counted in one step, behind so many messages."""
    tokenizer = CountingTokenizer()
    handler = handler_of(client=Recorder(), tokenizer=tokenizer, budget=3_000, plan_ahead=False)
    history = [Read(message) for message in turns(number // 2, size=1)]
    found = handler.conversation("s")
    found.load_now(history)
    found.view_now(history, ModelCall(budget=3_000, lane="openai/m"))
    history += [Read(message) for message in turns(1, size=1, begin=number)]
    Read.times = counted = 0
    counted = tokenizer.characters
    handler.completion("openai/m", history, litellm_session_id="s")
    return Read.times, tokenizer.characters - counted


@pytest.mark.parametrize("number", [4_000, pytest.param(40_000, marks=pytest.mark.long)])
def test_a_step_reads_and_counts_the_same_at_any_length(number):
    short, long = costs(1_000), costs(number)
    assert short[0] == long[0] <= 8 * (COMPARED + 2)
    assert long[1] <= short[1] + 20, "numbers are longer"
