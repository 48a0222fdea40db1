"""What a provider says of a request next to its usage: events, and warnings where no reported change explains it."""

import warnings
from types import SimpleNamespace

import pytest

from backscroll import BackscrollWarning, ContextManager, events
from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses, reply

USAGE = {"usage": {"input_tokens": 100, "output_tokens": 2}}
NOTES = (events.REASONING_MISMATCH, events.REASONING_DROPPED, events.CACHE_MISSED, events.CACHE_MISS_UNEXPECTED)
BINDING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
BETAS = ["thinking-binding-controls-2026-08-01"]


class Talk:
    """A session of which the second request was sent."""

    def __init__(self, change=lambda manager: None, **second):
        self.heard = []
        self.manager = ContextManager(on_event=self.hear, model="claude-opus-5-5")
        self.manager.append({"role": "user", "content": "Begin."}, {"role": "assistant", "content": "Yes."})
        self.manager.append({"role": "user", "content": "On."}, {"role": "assistant", "content": "Yes."})
        self.manager.append({"role": "user", "content": "On."})
        self.manager.get_messages_for_request()
        self.manager.append({"role": "assistant", "content": "Yes."}, {"role": "user", "content": "On."})
        change(self.manager)
        self.manager.get_messages_for_request(**second)

    def hear(self, name, payload):
        if name in NOTES:
            self.heard.append((name, payload))

    def answered(self, response):
        """Report a response, and return events and warnings of it."""
        self.manager.observe_response(response)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.manager.window_report()
        return self.heard, [str(each.message) for each in caught if each.category is BackscrollWarning]


def dropped(*reasons):
    return [
        {"type": "thinking_dropped", "path": f"messages.{at}.content.0", "reason": reason}
        for at, reason in enumerate(reasons)
    ]


def missed(reason, tokens=900):
    return {"diagnostics": {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": tokens}}}


def diagnosed(reason):
    kind = {"type": "cache_miss", "reason": reason, "cache_missed_tokens": 900}
    return {"object": "response", "prompt_cache_diagnostics": kind}


def test_reasoning_dropped_for_its_prefix_warns():
    said = dropped("prefix_binding_mismatch", "model_binding_mismatch", "prefix_binding_mismatch")
    heard, warned = Talk().answered(USAGE | {"input_transformations": said})
    assert heard == [
        (
            events.REASONING_MISMATCH,
            {
                "lane": "main",
                "blocks": 2,
                "reasons": {"prefix_binding_mismatch": 2},
                "first": "messages.0.content.0",
            },
        ),
        (
            events.REASONING_DROPPED,
            {"lane": "main", "blocks": 1, "reasons": {"model_binding_mismatch": 1}, "first": "messages.1.content.0"},
        ),
    ]
    assert len(warned) == 1
    assert "send each view unchanged" in warned[0]


@pytest.mark.parametrize(
    "reason", ["model_binding_mismatch", "organization_mismatch", "end_user_binding_mismatch", "turn_boundary", "new"]
)
def test_reasoning_dropped_by_a_switch_does_not_warn(reason):
    heard, warned = Talk().answered(USAGE | {"input_transformations": dropped(reason)})
    assert [name for name, _ in heard] == [events.REASONING_DROPPED]
    assert warned == []


@pytest.mark.parametrize("clean", [{}, {"input_transformations": []}, {"input_transformations": None}])
def test_clean_responses_say_nothing(clean):
    assert Talk().answered(USAGE | clean) == ([], [])


@pytest.mark.parametrize("wrapped", ["message", "response"])
def test_events_of_streams_and_objects_are_read(wrapped):
    inner = SimpleNamespace(
        usage=SimpleNamespace(input_tokens=40, output_tokens=2),
        input_transformations=[SimpleNamespace(type="reasoning", id="rs_1", reason="prefix_mismatch")],
    )
    heard, _ = Talk().answered(SimpleNamespace(type="message_start", **{wrapped: inner}))
    assert [(name, payload["first"]) for name, payload in heard] == [(events.REASONING_MISMATCH, "rs_1")]


@pytest.mark.parametrize("said", [missed("tools_changed"), missed("system_changed"), missed("messages_changed")])
def test_a_cache_miss_that_nothing_explains_warns(said):
    heard, warned = Talk().answered(USAGE | said)
    assert [(name, payload["tokens"]) for name, payload in heard] == [(events.CACHE_MISS_UNEXPECTED, 900)]
    assert len(warned) == 1


@pytest.mark.parametrize(
    ("talk", "said"),
    [
        (lambda: Talk(tools=[{"name": "read"}]), missed("tools_changed")),
        (lambda: Talk(tools=[{"name": "read"}]), diagnosed("tools_changed")),
        (lambda: Talk(lambda manager: manager.set_system_prompt_factory(lambda: "Hi.")), missed("system_changed")),
        (lambda: Talk(lambda manager: manager.set_system_prompt_factory(lambda: "Hi.")), diagnosed("input_changed")),
        (lambda: Talk(lambda manager: manager.trim(keep_last=1)), missed("messages_changed")),
        (Talk, missed("model_changed")),
    ],
)
def test_a_cache_miss_by_a_known_change_does_not_warn(talk, said):
    heard, warned = talk().answered(USAGE | said)
    assert [name for name, _ in heard] == [events.CACHE_MISSED]
    assert warned == []


@pytest.mark.parametrize("said", [missed("unavailable"), missed("previous_message_not_found"), diagnosed("cache_hit")])
def test_diagnostics_without_a_reason_say_nothing(said):
    assert Talk().answered(USAGE | said) == ([], [])


def test_other_misses_of_openai_name_the_remedy():
    heard, warned = Talk().answered(USAGE | diagnosed("prompt_cache_key_changed"))
    assert "prompt_cache_key(lane)" in heard[0][1]["remedy"]
    assert heard[0][1]["remedy"] in warned[0]


def test_a_prompt_changed_behind_our_back_is_reported():
    """The provider's fake drops the thinking, because its caller sent another system prompt than before."""
    provider = FakeAnthropic(replies=lambda _: reply("Yes.", thinking=["Hm."]))
    talk = Talk()
    manager, heard = talk.manager, talk.heard
    for system in ("Be brief.", "Be long."):
        manager.append({"role": "user", "content": "And?"})
        view = manager.get_messages_for_request()
        request = {"system": system, "messages": view, "thinking": BINDING, "betas": BETAS}
        response = provider.create(model="claude-opus-5-5", max_tokens=100, **request)
        if system == "Be long.":
            break
        manager.append({"role": "assistant", "content": response["content"]})
    _, warned = talk.answered(response)
    assert "same system prompt" in warned[0]
    assert [name for name, _ in heard] == [events.REASONING_MISMATCH]


def test_reasoning_that_openai_removed_is_reported():
    provider = FakeOpenAIResponses(replies=lambda _: reply("Yes.", thinking=["Hm."]))
    heard = []
    with ContextManager(model="gpt-6.2-sol", on_event=lambda name, payload: heard.append(name)) as manager:
        for extra in ([], [{"role": "developer", "content": "Be long."}]):
            manager.append({"role": "user", "content": "And?"})
            response = provider.create(model="gpt-6.2-sol", input=extra + manager.get_messages_for_request())
            if not extra:
                manager.append(response)
        manager.observe_response(response)
        with pytest.warns(BackscrollWarning, match="append responses unchanged"):
            manager.window_report()
    assert events.REASONING_MISMATCH in heard


@pytest.mark.parametrize("name", ["stop_reason", "stopReason"])
@pytest.mark.parametrize("wrap", [lambda response: response, lambda response: {"delta": response, **response}])
@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_answer_that_the_window_cut_makes_later_views_shorter(name, wrap):
    """It is no error: the answer is appended, and the limit is what `observe_overflow` sets."""
    words, heard = "Nothing of note happened here. " * 40, []
    manager = ContextManager(on_event=lambda event, _: heard.append(event), budget=50_000)
    manager.append(*[{"role": "user" if at % 2 == 0 else "assistant", "content": words} for at in range(41)])
    manager.get_messages_for_request()
    before = manager.usage().used_upper_bound
    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "So"}]}
    response = {**answer, name: "model_context_window_exceeded", "usage": {"input_tokens": before, "output_tokens": 9}}
    manager.observe_response(wrap(response))
    manager.append({"role": "assistant", "content": "So"}, {"role": "user", "content": "Go on."})
    manager.get_messages_for_request()
    assert heard.count(events.OVERFLOW) == 1
    assert manager.usage().used_upper_bound < 0.8 * before
    manager.observe_response({**response, name: "end_turn"})
    manager.get_messages_for_request()
    assert heard.count(events.OVERFLOW) == 1
