"""Reading recorded conversations: every format by its content, every bad file with its place."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.evaluation.readers import Transcript, TranscriptError, read
from backscroll.evaluation.run import replay, steps

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "How big is a.txt?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "size", "arguments": '{"path": "a.txt"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "12"},
    {"role": "assistant", "content": "12 bytes."},
]
AMPLIFIER = [
    {"role": "user", "content": "Look."},
    {
        "role": "assistant",
        "content": [{"type": "tool_call", "id": "a", "name": "ls", "input": {}}],
        "tool_calls": [{"id": "a", "tool": "ls", "arguments": {}}],
    },
    {"role": "tool", "tool_call_id": "a", "name": "ls", "content": "x.py"},
]
BEDROCK = [
    {"role": "user", "content": [{"text": "Look."}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "b", "name": "ls", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "b", "content": [{"text": "x.py"}]}}]},
]
ANTHROPIC = [
    {"role": "user", "content": "Look."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x.py"}]},
]

GEMINI = [
    {"role": "user", "parts": [{"text": "Look."}]},
    {"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "c2ln"}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "ls", "response": {"output": "x.py"}}}]},
    {"role": "model", "parts": [{"text": "x.py"}]},
]


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def as_lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def only(data: bytes) -> Transcript:
    (found,) = read(data, "sample")
    return found


# Chat


@pytest.mark.parametrize(
    "data",
    [
        as_json(CHAT),
        json.dumps(CHAT, indent=2).encode(),
        as_json({"messages": CHAT}),
        as_json({"model": "some-model", "temperature": 0, "messages": CHAT, "tools": []}),
        as_lines(*CHAT),
        as_lines(*CHAT).rstrip(b"\n"),
        as_lines(*CHAT).replace(b"\n", b"\r\n"),
        b"\n" + as_lines(*CHAT).replace(b"\n", b"\n\n"),
        b"\xef\xbb\xbf" + as_lines(*CHAT),
        as_lines({"id": 7, "messages": CHAT, "domain": "files"}),
    ],
    ids=["list", "indented", "object", "request", "lines", "no-last-newline", "crlf", "blank-lines", "bom", "one-line"],
)
def test_chat_in_every_wrapping_gives_the_same_messages(data: bytes) -> None:
    found = only(data)
    assert (found.format, found.messages, found.skipped) == ("openai", CHAT, 0)


def test_several_conversations_are_numbered() -> None:
    for data in (
        as_json([{"messages": CHAT}, {"messages": ANTHROPIC}]),
        as_lines({"messages": CHAT}, {"messages": ANTHROPIC}),
    ):
        found = read(data, "two.jsonl")
        assert [(one.name, one.format) for one in found] == [("two.jsonl#1", "openai"), ("two.jsonl#2", "anthropic")]
        assert [one.messages for one in found] == [CHAT, ANTHROPIC]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [(AMPLIFIER, "amplifier"), (BEDROCK, "bedrock"), (GEMINI, "gemini"), (ANTHROPIC, "anthropic"), (CHAT, "openai")],
)
def test_the_dialect_is_named_and_kept(messages: list[Any], expected: str) -> None:
    for data in (as_json(messages), as_lines(*messages), as_json({"messages": messages})):
        found = only(data)
        assert (found.format, found.messages) == (expected, messages)


def test_request_body_of_gemini_is_read_and_replayed() -> None:
    found = only(as_json({"contents": GEMINI, "systemInstruction": {"parts": [{"text": "Be brief."}]}}))
    assert (found.format, found.messages, found.skipped) == ("gemini", GEMINI, 1)
    assert [step.before for step in steps(found, ContextManager(), 10_000)] == [1, 3]


def test_a_first_line_about_the_session_is_left_out_and_counted() -> None:
    found = only(as_lines({"session_id": "s", "created": "today"}, *AMPLIFIER))
    assert found.messages == AMPLIFIER
    assert found.reasons == {"line about the session": 1}


def test_system_prompt_outside_the_messages_counts_as_left_out() -> None:
    """A system prompt next to the messages is counted as left out."""
    found = only(as_json({"system": "Be brief.", "messages": ANTHROPIC}))
    assert found.messages == ANTHROPIC
    assert found.skipped == 1


def test_lone_surrogates_and_line_separators_inside_texts_stay() -> None:
    odd = [{"role": "user", "content": "half \ud83d, and a separator\u2028here\u0085there"}]
    assert only(as_lines(odd[0], odd[0])).messages == odd * 2
    raw = b'{"role": "user", "content": "one\xe2\x80\xa8two"}\n'
    assert only(raw * 2).messages == [{"role": "user", "content": "one\u2028two"}] * 2


@given(
    st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": st.text()}), min_size=1)
)
def test_any_message_is_read_back_as_it_was(messages: list[dict[str, str]]) -> None:
    for data in (as_json(messages), as_json({"messages": messages}), as_lines(*messages)):
        assert only(data).messages == messages


def test_a_stream_and_a_path_are_read_like_bytes(tmp_path: Path) -> None:
    path = tmp_path / "anything.bin"
    path.write_bytes(as_lines(*CHAT))
    (found,) = read(path)
    assert (found.name, found.messages) == (str(path), CHAT)
    with path.open("rb") as stream:
        assert read(stream, "stream")[0].messages == CHAT


# Codex


def item(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


CODEX = [
    said("developer", "Be brief."),
    said("user", "<environment_context>", "Look."),
    item("reasoning", summary=[], encrypted_content="gAAA"),
    said("assistant", "I will."),
    item("function_call", name="shell", arguments='{"command":["ls"]}', call_id="c1"),
    item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2", status="completed"),
    item("function_call_output", call_id="c1", output='{"output":"x.py","metadata":{"exit_code":0}}'),
    item("custom_tool_call_output", call_id="c2", output={"content": "Done!", "success": True}),
    item("local_shell_call", call_id="c3", action={"type": "exec", "command": ["ls"]}),
    item("function_call_output", call_id="c3", output=[{"type": "input_text", "text": "y.py"}]),
    item("message", role="user", content=[item("input_image", image_url="data:x"), item("input_text", text="?")]),
]  # fmt: skip  # an item a line
FROM_CODEX = [
    CODEX[0],
    CODEX[1],
    {"role": "assistant", "content": CODEX[2:6]},
    {"role": "tool", "content": [CODEX[6]]},
    {"role": "tool", "content": [CODEX[7]]},
    {"role": "assistant", "content": [CODEX[8]]},
    {"role": "tool", "content": [CODEX[9]]},
    CODEX[10],
]


def test_items_of_a_codex_session_stay_as_they_are() -> None:
    """Those of one response are one message, as an appended response is."""
    noted = [
        {"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "instructions": None}},
        {"timestamp": "t", "type": "turn_context", "payload": {"cwd": "."}},
        {"timestamp": "t", "type": "event_msg", "payload": {"type": "user_message", "message": "Look."}},
    ]
    wrapped = [
        {"timestamp": "t", "type": "response_item", "payload": each} for each in [*CODEX, item("ghost_snapshot")]
    ]
    found = only(as_lines(*noted, *wrapped))
    assert (found.format, found.messages) == ("codex", FROM_CODEX)
    assert found.reasons == {
        "session_meta line": 1, "turn_context line": 1, "event_msg line": 1, "ghost_snapshot item": 1,
    }  # fmt: skip  # one thought
    old = only(as_lines({"id": "s", "timestamp": "t", "instructions": None}, *CODEX, {"record_type": "state"}))
    assert (old.format, old.messages) == ("codex", FROM_CODEX)
    assert old.reasons == {"untyped line": 2}


def test_reasoning_of_an_interrupted_codex_response_is_left_out() -> None:
    """No request may hold reasoning without the item that followed it."""
    found = only(as_lines(CODEX[1], *CODEX[2:5], CODEX[2], CODEX[6], CODEX[2], CODEX[2], CODEX[10]))
    assert found.messages == [
        CODEX[1],
        {"role": "assistant", "content": CODEX[2:5]},
        {"role": "tool", "content": [CODEX[6]]},
        CODEX[10],
    ]
    assert found.reasons == {"reasoning item that led to nothing": 3}


def test_codex_session_is_replayed_in_its_own_dialect() -> None:
    """Every view passes the oracle, with reasoning, parallel calls and compactions."""
    items = [said("user", "Look at all of them.")]
    for number in range(40):
        names = [f"c{number}-{at}" for at in range(1 + number % 3)]
        thought = item("reasoning", summary=[], encrypted_content=f"g{number} " * 40)
        calls = [item("function_call", name="shell", arguments=f'{{"n":{number}}}', call_id=name) for name in names]
        outputs = [item("function_call_output", call_id=name, output=f"{name} is fine\n" * 60) for name in names]
        items += [*([thought] if number % 2 else []), *calls, *outputs]
        items += [said("assistant", f"Done {number}."), said("user", f"Go on {number}.")] if number % 7 == 6 else []
    outcome = replay(only(as_lines(*items)), budget=3_000)
    assert (outcome.problems, outcome.invalid, outcome.over_budget, outcome.refused) == ((), 0, 0, 0)
    assert outcome.compactions > 3
    assert outcome.requests == 40 + 5


def test_a_codex_message_without_a_role_is_named_with_its_line() -> None:
    with pytest.raises(TranscriptError, match="sample: line 2: the message has no role"):
        only(as_lines(CODEX[4], {"type": "response_item", "payload": {"type": "message", "content": []}}))


# Claude Code


def line(kind: str, content: Any, uuid: str = "", **more: Any) -> dict[str, Any]:
    known = more.pop("id", None)
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {"id": known, "model": "m", "type": "message", "stop_reason": None, "usage": {"input_tokens": 3}}
    return {"type": kind, "message": message, **({"uuid": uuid} if uuid else {}), "isSidechain": False, **more}


def use(known: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": known, "name": "ls", "input": {}}


def result(known: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": known, "content": "x"}


def test_pieces_of_one_answer_join_at_the_first() -> None:
    """Pieces of one answer are joined where the first one stood."""
    found = only(
        as_lines(
            line("user", "Look."),
            line("assistant", [{"type": "text", "text": "I will."}], id="m1"),
            line("assistant", [use("a")], id="m1"),
            line("user", [result("a")]),
            line("assistant", [use("b")], id="m1"),
            line("user", [result("b")]),
            line("assistant", [{"type": "text", "text": "Done."}], id="m2"),
        )
    )
    assert found.format == "claude-code"
    assert found.messages == [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [{"type": "text", "text": "I will."}, use("a"), use("b")]},
        {"role": "user", "content": [result("a")]},
        {"role": "user", "content": [result("b")]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    ]


def test_what_was_never_sent_is_left_out_with_its_reason() -> None:
    found = only(
        as_lines(
            {"type": "summary", "summary": "s", "leafUuid": "u"},
            {"type": "file-history-snapshot", "snapshot": {}},
            line("user", "Hi.", "u1"),
            line("user", "Hi.", "u1"),
            line("user", "A caveat of the client", "u2", isMeta=True),
            {"type": "progress", "data": {}},
            {"type": "progress", "data": {}},
            {"type": "system", "subtype": "compact_boundary"},
            line("user", "This session is being continued ...", "u3", isCompactSummary=True),
            line("assistant", [{"type": "text", "text": "API Error"}], "u4", id="x", isApiErrorMessage=True),
            line("assistant", "Hello.", "u5", id="m1"),
        )
    )
    assert [message["content"] for message in found.messages] == ["Hi.", "A caveat of the client", "Hello."]
    assert found.reasons == {
        "summary line": 1,
        "file-history-snapshot line": 1,
        "line repeated with the same uuid": 1,
        "progress line": 2,
        "system line": 1,
        "compact summary, written by the client and not by the user": 1,
        "error notice of the client, never sent": 1,
    }
    assert found.skipped == 8


def test_sidechains_are_transcripts_of_their_own() -> None:
    found = read(
        as_lines(
            line("user", "Main.", "u1"),
            line("user", "Task one.", "s1", isSidechain=True, parentUuid=None),
            line("assistant", "Working.", "s2", id="m1", isSidechain=True, parentUuid="s1"),
            line("user", "Task two.", "t1", isSidechain=True, agentId="agent-2"),
            {"type": "progress", "uuid": "p1", "parentUuid": "s2", "isSidechain": True},
            line("assistant", "More.", "s3", id="m2", isSidechain=True, parentUuid="p1"),
            line("assistant", "Two.", "t2", id="m3", isSidechain=True, agentId="agent-2"),
            line("assistant", "Main done.", "u2", id="m4"),
        ),
        "s",
    )
    assert [(one.name, [message["content"] for message in one.messages]) for one in found] == [
        ("s", ["Main.", "Main done."]),
        ("s#side-1", ["Task one.", "Working.", "More."]),
        ("s#side-2", ["Task two.", "Two."]),
    ]


def test_a_file_of_one_sidechain_has_the_name_of_the_file() -> None:
    found = only(as_lines(line("user", "Task.", "s1", isSidechain=True, agentId="a"), {"type": "progress"}))
    assert (found.name, found.skipped) == ("sample", 1)


# SWE-agent and tau-bench


def test_a_trajectory_keeps_what_a_request_holds() -> None:
    call = [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
    history = [
        {"role": "system", "content": "S", "agent": "main", "message_type": "system_prompt"},
        {"role": "user", "content": "A demonstration", "agent": "main", "is_demo": True},
        {
            "role": "assistant",
            "content": "T",
            "thought": "T",
            "action": "ls",
            "tool_calls": call,
            "thinking_blocks": [],
        },
        {"role": "tool", "content": "out", "agent": "main", "tool_call_ids": ["c"], "tool_calls": None},
    ]
    found = only(as_json({"environment": "e", "trajectory": [], "history": history, "info": {}}))
    assert found.format == "swe-agent"
    assert found.messages == [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "A demonstration"},
        {"role": "assistant", "content": "T", "tool_calls": call, "thinking_blocks": []},
        {"role": "tool", "content": "out", "tool_call_id": "c"},
    ]


def test_a_trajectory_without_history_is_read_from_its_steps() -> None:
    query = [{"role": "user", "content": "Fix it.", "agent": "main"}]
    call = [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
    trajectory = [
        {"query": query, "response": "I look.", "action": "ls", "observation": "a.py"},
        {"query": query, "thought": "And then", "action": "cat a.py", "observation": "pass", "tool_calls": call},
    ]
    assert only(as_json({"trajectory": trajectory})).messages == [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "I look."},
        {"role": "user", "content": "a.py", "metadata": {"kind": "observation"}},
        {"role": "assistant", "content": "And then\ncat a.py", "tool_calls": call},
        {"role": "tool", "tool_call_id": "c", "content": "pass"},
    ]


def test_answers_of_a_host_without_tool_calls_are_observations() -> None:
    """In the history of a trajectory all that follow an answer, in a chat those of ReAct; no other message changes."""
    chat = [
        {"role": "user", "content": "Observation: the door is open. Close it."},
        {"role": "assistant", "content": "Action: look()"},
        {"role": "user", "content": "Observation: it is closed."},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thank you."},
    ]
    kind = {"metadata": {"kind": "observation"}}
    assert only(as_json(chat)).messages == [*chat[:2], chat[2] | kind, *chat[3:]]
    trajectory = {"trajectory": [], "history": chat}
    assert only(as_json(trajectory)).messages == [*chat[:2], chat[2] | kind, chat[3], chat[4] | kind]


def test_every_run_of_a_benchmark_is_a_transcript() -> None:
    runs = [{"task_id": at, "reward": 1.0, "info": {}, "traj": CHAT[: at + 2]} for at in range(3)]
    found = read(as_json(runs), "runs")
    assert [(one.name, one.format, len(one.messages)) for one in found] == [
        ("runs#1", "tau-bench", 2),
        ("runs#2", "tau-bench", 3),
        ("runs#3", "tau-bench", 4),
    ]
    assert only(as_json(runs[0])).name == "sample"


# Bad files


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "bad: is empty"),
        (b" \n\n", "bad: is empty"),
        (b"\xef\xbb\xbf", "bad: is empty"),
        (b"hello\n", "bad: line 1, column 1: "),
        (b'{"role": "user"}\n\xff\n', "bad: line 2, byte 17: not UTF-8 text"),
        (b'{"role": "user"}\n{"role": "us', "bad: line 2, column 10: the last line is torn"),
        (b'{"role": "user"}\n{"role": "user", "content": {"a": 1}', "bad: line 2, column 37: the last line is torn"),
        (b'[{"role": "user"}, {"role"', "bad: line 1, column 27: the last line is torn"),
        (b'{"role": "user"}\nnonsense\n{"role": "user"}\n', "bad: line 2, column 1: not JSON"),
        (b'{"role": "user"}\n[1]\n{"role": "user"}\n', "bad: line 2: expected a JSON object, found a list"),
        (b'{"role": "user"}\n{"roll": "user"}\n', "bad: line 2: expected a message with a role, found keys: roll"),
        (b'[{"role": "user"}, {"role": ""}]', "bad: item 2: expected a message with a role"),
        (b'{"messages": [{"role": "user"}, 3]}', "bad: messages[1]: expected a message, found a number"),
        (b'{"messages": []}', "bad: holds no messages"),
        (b"[]", "bad: holds no messages"),
        (b'["a", "b"]', "bad: item 1: expected a JSON object, found a text"),
        (b"3", "bad: holds a number, expected messages"),
        (b'{"name": "package", "version": 1}', "bad: no conversation: expected 'role', or a list under"),
        (b'[{"role": "user",\n"content": NaN}]', "bad: line 2: not strict JSON (NaN"),
        (b'{"role": "user"}\n{"role": "user", "content": Infinity}\n', "bad: line 2: not strict JSON (Infinity"),
        (b'{"type": "summary", "summary": "s"}\n{"type": "progress"}\n', "bad: line 1: no conversation"),
        (b"[" * 100_000, "bad: line 1: nested too deeply"),
    ],
)
def test_bad_files_are_refused_in_one_line_with_the_place(data: bytes, expected: str) -> None:
    with pytest.raises(TranscriptError) as caught:
        read(data, "bad")
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="cannot be read: No such file"):
        read(tmp_path / "missing.json")
    with pytest.raises(TranscriptError, match="cannot be read"):
        read(tmp_path)


def messages_or_error(data: bytes) -> list[dict[str, Any]] | str:
    try:
        return [message for one in read(data, "noise") for message in one.messages]
    except TranscriptError as error:
        return str(error)


def check(data: bytes) -> None:
    found = messages_or_error(data)
    if isinstance(found, str):
        assert found.startswith("noise: ")
        assert "\n" not in found
    else:
        assert all(isinstance(message["role"], str) for message in found)


@given(st.binary(max_size=200))
def test_any_bytes_give_messages_or_one_clear_error(data: bytes) -> None:
    check(data)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *["role", "type", "message", "messages", "history", "traj", "trajectory", "content", "uuid", "id"],
                    "odd\nkey",
                ]
            ),
            inner | st.sampled_from(["user", "assistant"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(st.lists(_VALUES, min_size=1, max_size=4), st.sampled_from([as_json, lambda values: as_lines(*values)]))
def test_any_json_gives_messages_or_one_clear_error(values: list[Any], write: Callable[[Any], bytes]) -> None:
    check(write(values))
