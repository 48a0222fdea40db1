"""Which reasoning a lane shows after a message that is never stored is lost, and in a lane that opens later."""

import pytest

from backscroll import ContextManager, events
from backscroll.evaluation.fake_providers import FakeAnthropic, FakeProviderError, reply
from tests.bound_agent import BETAS, BINDING, _sent
from tests.fakes import count_quarter

MODEL = "claude-opus-5-5"
PASSING = {"role": "user", "content": "It is Monday.", "metadata": {"ephemeral": True}}


class Talk:
    """A conversation with a provider that refuses reasoning behind a changed prefix.

    Each reply has reasoning with a number, and the calls of `calls`.
    """

    def __init__(self, store=None):
        self.store, self.events, self.calls, self.thought = store, [], [], 0
        self.provider = FakeAnthropic(model=MODEL, replies=self.reply_to)
        self.open()

    def open(self):
        """Open the manager, perhaps again."""
        kept = {} if self.store is None else {"store": self.store, "session": "s"}
        self.manager = ContextManager(
            **kept, model=MODEL, on_event=lambda name, payload: self.events.append((name, payload))
        )

    def reply_to(self, _):
        self.thought += 1
        return reply(
            "Well.", thinking=f"Thought {self.thought}.", calls=[("read", {"path": name}) for name in self.calls]
        )

    def say(self, *messages, lane="main"):
        """Append messages, send the view of a lane, and append the reply; return the numbers of its thoughts."""
        self.manager.append(*messages)
        view = self.manager.get_messages_for_request(lane=lane)
        system = "".join(message["content"] for message in view if message["role"] == "system")
        sent = [_sent(message) for message in view if message["role"] != "system"]
        self.reply = self.provider.create(system=system, messages=sent, thinking=BINDING, betas=BETAS)
        self.manager.append({"role": "assistant", "content": self.reply["content"]})
        return thoughts(view)

    def result(self, number):
        """Return a result of the newest reply's call of this number."""
        calls = [block["id"] for block in self.reply["content"] if block["type"] == "tool_use"]
        return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": calls[number], "content": "Ok."}]}


def thoughts(view):
    blocks = [block for message in view if isinstance(message["content"], list) for block in message["content"]]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def said(text):
    return {"role": "user", "content": text}


def late(talk):
    """Let a result come after the reasoning that was made without it, which a user asked for; return it."""
    talk.calls = ["a", "b"]
    assert talk.say(said("Read both.")) == []
    both = talk.result(0), talk.result(1)
    talk.calls = []
    assert talk.say(both[0], said("Do not wait.")) == ["Thought 1."]
    return both[1]


def waited_for(talk):
    """Ask while the calls are open, so that the reasoning is made over placeholders; return the results.

    The answer follows its call directly, so the results are not late: only the lane that asked shows them as text.
    """
    talk.calls = ["a", "b"]
    assert talk.say(said("Read both.")) == []
    both = talk.result(0), talk.result(1)
    talk.calls = []
    assert talk.say() == ["Thought 1."]
    return both


@pytest.mark.parametrize("lane", ["main", "side"])
def test_lost_ephemeral_message_takes_the_reasoning_behind_it(lane, tmp_path):
    """The reasoning was made over it, and it is gone after a restart: the prefix changed, in a new lane as well."""
    talk = Talk(tmp_path / "s.db")
    assert talk.say(said("Hi.")) == []
    assert talk.say(said("Go on."), PASSING) == ["Thought 1."]
    assert talk.say(said("And now?")) == ["Thought 1.", "Thought 2."]
    talk.manager.close()
    talk.open()
    talk.events.clear()
    assert talk.say(said("And then?"), lane=lane) == ["Thought 1."]
    assert [payload["messages"] for name, payload in talk.events if name == events.REASONING_REMOVED] == [2]
    assert talk.say(said("Good."), lane=lane) == ["Thought 1.", "Thought 4."]
    talk.manager.close()


def test_restart_without_ephemeral_messages_keeps_reasoning(tmp_path):
    talk = Talk(tmp_path / "s.db")
    talk.say(said("Hi."))
    talk.manager.close()
    talk.open()
    assert talk.say(said("And then?")) == ["Thought 1."]
    talk.manager.close()


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("lane", ["main", "side"])
def test_late_result_takes_no_reasoning_with_it(restarts, lane, tmp_path):
    """It is shown where it came, so the prefix of all reasoning stays, for the provider as well."""
    talk = Talk(tmp_path / "s.db" if restarts else None)
    talk.manager.append(late(talk))
    if restarts:
        talk.manager.close()
        talk.open()
    assert talk.say(said("And?"), lane=lane) == ["Thought 1.", "Thought 2."]
    assert talk.say(said("Good."), lane=lane) == ["Thought 1.", "Thought 2.", "Thought 3."]
    assert events.REASONING_REMOVED not in {name for name, _ in talk.events}
    talk.manager.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_new_lane_shows_no_reasoning_that_is_stale_in_it(restarts, tmp_path):
    """The first lane asked while the calls were open: its placeholders and the reasoning over them stay. Another lane
    has the results behind their calls, and no reasoning that was made without them.
    """
    talk = Talk(tmp_path / "s.db" if restarts else None)
    talk.manager.append(*waited_for(talk))
    if restarts:
        talk.manager.close()
        talk.open()
    assert talk.say(said("And?"), lane="side") == ["Thought 1."]
    assert talk.say(said("Good."), lane="side") == ["Thought 1.", "Thought 3."]
    assert talk.say(said("And you?")) == ["Thought 1.", "Thought 2."]
    talk.manager.close()


def test_new_lane_knows_the_prompt_that_reasoning_was_made_with():
    talk = Talk()
    talk.manager.set_system_prompt_factory(lambda: "Be brief.")
    assert talk.say(said("Hi.")) == []
    talk.manager.set_system_prompt_factory(lambda: "Be verbose.")
    assert talk.say(said("Go on."), lane="side") == []
    assert talk.say(said("Go on."), lane="side") == ["Thought 2."]


def test_provider_refuses_what_these_lanes_leave_out():
    """The fake is strict: the same view with the reasoning is refused."""
    talk = Talk()
    talk.manager.append(*waited_for(talk), said("And?"))
    view = talk.manager.get_messages_for_request(lane="side")
    assert thoughts(view) == ["Thought 1."]
    (at,) = [at for at, message in enumerate(view) if "Well." in str(message) and "thinking" not in str(message)]
    view[at] = {**view[at], "content": talk.reply["content"]}
    with pytest.raises(FakeProviderError, match="bound to a different conversation"):
        talk.provider.create(messages=view, thinking=BINDING, betas=BETAS)


def in_blocks(text):
    return {
        "role": "assistant",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": text}],
    }


def in_parts(text):
    """A host writes Claude's thinking in Gemini's shape so, where the model's role is `model`."""
    return {"role": "model", "parts": [{"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}, {"text": text}]}


@pytest.mark.parametrize("thinking", [in_blocks, in_parts])
def test_other_lane_shows_no_reasoning_made_over_this_one(thinking):
    """It was made over another view. The role of its message may have another name than `assistant`."""
    with ContextManager(tokenizer=count_quarter) as manager:
        for number in range(12):
            manager.append(said(f"Question {number} " + "word " * 100), {"role": "assistant", "content": "Yes. " * 100})
        manager.append(said("Now?"))
        manager.get_messages_for_request(1_500, lane="small")
        manager.get_messages_for_request(lane="large")
        manager.append(thinking("Done."), said("And?"))
        assert "Hm." in str(manager.get_messages_for_request(lane="large"))
        assert "Hm." not in str(manager.get_messages_for_request(1_500, lane="small"))
