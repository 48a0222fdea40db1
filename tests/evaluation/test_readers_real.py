"""Reading real recordings, where a folder of them is at hand: nothing said in them is lost or changed."""

import json

import pytest

from backscroll.evaluation.readers import TranscriptError, read
from tests.real import RECORDINGS, needs_recordings


@needs_recordings
@pytest.mark.parametrize("folder", ["entire", "sweagent", "tau", "whowhen"])
def test_real_conversations_are_read_message_for_message(folder: str) -> None:
    path = RECORDINGS / folder / "norm.jsonl"
    expected = [json.loads(text)["messages"] for text in path.read_text(encoding="utf-8").split("\n") if text]
    assert [one.messages for one in read(path)] == expected


@needs_recordings
@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("claude-code-compacted.jsonl", "claude-code", 1),
        ("claude-code-short.jsonl", "claude-code", 1),
        ("sweagent-flash.traj", "swe-agent", 1),
        ("sweagent-pydicom__pydicom-1458.traj", "swe-agent", 1),
        ("tau-bench-airline.json", "tau-bench", 20),
    ],
)
def test_real_native_files_are_recognised_by_content(name: str, kind: str, count: int) -> None:
    found = read((RECORDINGS / "native" / name).read_bytes(), "no-name")
    assert [one.format for one in found] == [kind] * count
    for one in found:
        assert all(
            set(message) <= {"role", "content", "tool_calls", "tool_call_id", "name", "metadata"}
            for message in one.messages
        )
        marks = [message["metadata"] for message in one.messages if "metadata" in message]
        assert marks == [{"kind": "observation"}] * len(marks)
        assert bool(marks) == (kind == "swe-agent" and not any("tool_calls" in message for message in one.messages))


@needs_recordings
def test_no_record_of_a_real_session_is_lost() -> None:
    for name in ("claude-code-compacted.jsonl", "claude-code-short.jsonl"):
        path = RECORDINGS / "native" / name
        lines = [json.loads(text) for text in path.read_text(encoding="utf-8").split("\n") if text]
        (found,) = read(path)
        said = [line for line in lines if line["type"] in ("user", "assistant") and not line.get("isCompactSummary")]
        pieces = [line for line in said if line["type"] == "assistant"]
        answers = {line["message"]["id"] for line in pieces}
        assert len(found.messages) == len(said) - len(pieces) + len(answers)
        assert found.skipped + len(said) == len(lines)
        written = sum(len(line["message"]["content"]) for line in pieces)
        assert written == sum(len(message["content"]) for message in found.messages if message["role"] == "assistant")


@needs_recordings
def test_a_list_of_words_is_no_transcript() -> None:
    with pytest.raises(TranscriptError, match="item 1: expected a JSON object, found a text"):
        read(RECORDINGS / "generic.json")
