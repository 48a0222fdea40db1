"""What a file is read as: requests as sent, or transcripts with what their log says about requests and compactions."""

import json
from typing import Any

import pytest

from backscroll.errors import TranscriptError
from backscroll.evaluation.lint import talks_of
from backscroll.evaluation.lint.talk import Usage
from tests.evaluation.lint.agents import AGENTS, Body, anthropic, chat, found_in_transcript
from tests.evaluation.lint.faults import transcript

LONG = "".join(f"line {number} of a file\n" for number in range(400))


def as_lines(values: list[Any]) -> bytes:
    return "".join(json.dumps(value) + "\n" for value in values).encode()


@pytest.mark.parametrize("shape", AGENTS)
def test_bodies_are_requests_as_sent(shape: str) -> None:
    bodies = AGENTS[shape]()
    for given in (as_lines(bodies), json.dumps(bodies).encode()):
        (talk,) = talks_of(given, "sent")
        assert [(each.number, each.shape) for each in talk.requests] == [(at, shape) for at in range(1, 9)]
        assert talk.messages == ()
    (one,) = talks_of(json.dumps(bodies[3]).encode(), "sent")
    assert len(one.requests) == 1
    assert one.requests[0].system or shape == "chat"
    assert len(one.requests[0].tools) == (2 if shape == "anthropic" else 1)


@pytest.mark.parametrize(
    "more", [{}, {"id": "s", "model": "gpt-5.4"}, {"metadata": {}, "name": "s"}, {"tools": [{"type": "function"}]}]
)
def test_a_saved_conversation_is_a_transcript(more: Body) -> None:
    (talk,) = talks_of(json.dumps({"messages": transcript(), **more}).encode(), "talk")
    assert (talk.requests, talk.messages) == ((), transcript())


def test_bodies_without_messages_are_refused() -> None:
    with pytest.raises(TranscriptError, match="holds no messages"):
        talks_of(b'{"model": "m", "messages": []}', "empty")


def line(role: str, content: Any, at: str, usage: Body | None = None, **more: Any) -> Body:
    message = {"role": role, "content": content, **({"id": at, "usage": usage} if usage else {})}
    return {"type": role, "timestamp": f"2026-11-23T10:{at}Z", "uuid": at, "message": message, **more}


def used(read: int, written: int, hour: bool = False) -> Body:
    lives = {"ephemeral_1h_input_tokens": written if hour else 0}
    return {
        "input_tokens": 5,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": lives,
    }


def test_a_log_of_claude_code_has_usage_and_compactions() -> None:
    (talk,) = talks_of(
        as_lines(
            [
                {"type": "summary", "summary": "A talk"},
                line("user", "Hello.", "00:00"),
                line("assistant", [{"type": "text", "text": "Hello!"}], "00:30.5", used(0, 900)),
                line("user", "Summary", "01:00", isCompactSummary=True),
                line("user", "Go on.", "02:00"),
                line("assistant", [{"type": "text", "text": "Yes."}], "03:00", used(900, 50, hour=True)),
            ]
        ),
        "log",
    )
    assert [message["role"] for message in talk.messages] == ["user", "assistant", "user", "assistant"]
    assert list(talk.compacted) == [2]
    first, second = (each for each in talk.recorded if each is not None)
    assert first == Usage(first.seconds, 0, 900, 905, 300.0)
    assert (second.read, second.prompt, second.life, second.seconds - first.seconds) == (900, 955, 3_600.0, 149.5)


def test_a_log_of_codex_says_when_it_compacted() -> None:
    def item(role: str, kind: str, text: str) -> Body:
        said = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"type": "response_item", "payload": said}

    (talk,) = talks_of(
        as_lines(
            [
                item("user", "input_text", "Hello."),
                item("assistant", "output_text", "Hello!"),
                {"type": "compacted", "payload": {"message": "in short"}},
                item("user", "input_text", "Go on."),
            ]
        ),
        "log",
    )
    assert (len(talk.messages), list(talk.compacted)) == (3, [2])


def test_what_was_compacted_away_is_read_again_for_good_reason() -> None:
    messages = transcript()
    for at in (5, 13):
        messages[at]["content"] = LONG
    assert [each.rule for each in found_in_transcript(messages)] == ["repeated-read"]
    assert found_in_transcript(messages, compacted=[9]) == []
    saved = json.dumps({"messages": messages, "compactions": [{"at": 9}, {}, None]}).encode()
    (talk,) = talks_of(saved, "saved")
    assert list(talk.compacted) == [9]
    (whole,) = found_in_transcript(messages)
    (half,) = found_in_transcript(messages, compacted=[15])
    assert 0 < half.sent < whole.sent, "after the compaction it is not sent any more"


def test_copies_that_no_request_holds_together_are_no_repeat() -> None:
    bodies = chat(14)
    for body in bodies:
        for at in (5, 25):
            if at < len(body["messages"]):
                body["messages"][at]["content"] = LONG
    (found,) = talks_of(as_lines(bodies), "sent")
    assert any(found.together(found.said[5], said) for said in found.said[6:])
    for body in bodies[10:]:
        del body["messages"][4:6]
    (found,) = talks_of(as_lines(bodies), "sent")
    late = next(said for said in found.said[6:] if said.message["content"] == LONG)
    assert not found.together(found.said[5], late)


def test_marks_of_the_cache_make_no_message_another_one() -> None:
    (talk,) = talks_of(as_lines(anthropic()), "sent")
    assert all(step.appends for step in talk.steps)
    assert len(talk.said) == len(talk.requests[-1].messages)


def test_a_body_of_a_model_and_messages_alone_is_a_request() -> None:
    (talk,) = talks_of(json.dumps({"model": "gpt-5.4", "messages": transcript()[:2]}).encode(), "sent")
    assert len(talk.requests) == 1


def test_a_summary_before_all_messages_begins_no_span() -> None:
    lines = [line("user", "Summary", "00:00", isCompactSummary=True), line("user", "Go on.", "00:01")]
    (talk,) = talks_of(as_lines([*lines, line("user", "Summary", "00:02", isCompactSummary=True)]), "log")
    assert list(talk.compacted) == []


def test_requests_with_the_same_beginning_are_one_conversation() -> None:
    """Even if a compaction left nothing else of it."""
    bodies = chat(6)
    task = bodies[-1]["messages"][:2]
    digest = [{"role": "assistant", "content": "In short: " + LONG}, {"role": "user", "content": "Go on."}]
    bodies.append({**bodies[-1], "messages": [*task, *digest, *transcript()[-9:-1]]})
    bodies[-1]["messages"][4:] = [{"role": "assistant", "content": f"{at} {LONG}"} for at in range(9)]
    (talk,) = talks_of(as_lines(bodies), "sent")
    assert len(talk.requests) == 7


def test_a_copy_costs_a_write_and_a_read_for_each_request() -> None:
    messages = transcript()
    messages[5]["content"] = messages[9]["content"] = LONG
    (found,) = found_in_transcript(messages)
    sends = sum(message["role"] == "assistant" for message in messages[10:])
    assert found.sent == found.tokens * sends
    assert found.cost == pytest.approx(found.tokens * (1.25 + 0.1 * (sends - 1)))
