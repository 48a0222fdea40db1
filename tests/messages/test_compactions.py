"""Providers' compactions in messages: opaque, counted, kept whole."""

import pytest

from backscroll import ContextManager
from backscroll.messages import holds_compaction, read_message
from backscroll.messages.compactions import read_answer
from tests.compaction.native_talk import NativeTalk, blocks
from tests.fakes import count_quarter

SIGNED = {"type": "compaction", "content": "All is well. " * 20, "signature": "abc"}
BY_THRESHOLD = {"type": "compaction", "content": "All is well. " * 20}
ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "x" * 300}


@pytest.mark.parametrize("block", [SIGNED, BY_THRESHOLD, ITEM])
def test_a_compaction_is_opaque_and_every_view_needs_it(block):
    reading = read_message({"role": "assistant", "content": [block]})
    assert [(part.kind, part.form) for part in reading.parts] == [("opaque", "fixed")]
    assert len(reading.parts[0].text) > 250
    assert reading.flags.critical


@pytest.mark.parametrize("content", [[{"type": "compaction", "content": None}], [{"type": "compaction"}], "compaction"])
def test_a_compaction_of_nothing_is_not_needed(content):
    message = {"role": "assistant", "content": content}
    assert not holds_compaction(message)
    assert not read_message(message).flags.critical


@pytest.mark.parametrize("strategies", ["auto", ["truncate"], ["clear"], None])
def test_a_reply_with_a_compaction_stays_as_it_is(strategies):
    manager = ContextManager(budget=1_500, tokenizer=count_quarter, strategies=strategies)
    held = {"role": "assistant", "content": [BY_THRESHOLD, {"type": "text", "text": "Well. " * 100}]}
    manager.append({"role": "user", "content": "Go."}, held)
    for number in range(40):
        manager.append(
            {"role": "user", "content": f"{number} " + "word " * 50}, {"role": "assistant", "content": "Ok."}
        )
        assert held in manager.get_messages_for_request()


def test_a_later_block_represents_a_message_with_a_compaction():
    talk = NativeTalk()
    held = {"role": "assistant", "content": [BY_THRESHOLD, {"type": "text", "text": "Well."}]}
    talk.manager.append(held, {"role": "user", "content": "Go on."})
    view = [held]
    while held in view:
        view = talk.work("context:compaction")
        assert len(blocks(view)) == 1 + (held in view)
    talk.manager.pin(max(status.seq for status in talk.manager.explain()))
    assert held not in talk.send(), "a pin brings back what is required, and this is not"


class Dumped:
    """What a client returns."""

    def __init__(self, value):
        self.value = value

    def model_dump(self, mode):
        assert mode == "json"
        return self.value


def test_answers_of_clients_are_read_without_nulls():
    block = {**SIGNED, "citations": None}
    usage = {"input_tokens": 0, "output_tokens": 0, "iterations": [{"input_tokens": 7, "cache_read_input_tokens": 2}]}
    response = {"content": [block], "model": "m", "stop_reason": "compaction", "usage": usage}
    found = read_answer(Dumped(response))
    assert found.message == {"role": "assistant", "content": [SIGNED]}
    assert (found.keeps, found.model, found.input_tokens, found.output_tokens) == (True, "m", 9, 0)
    assert read_answer([Dumped(block)]).message == found.message
    assert read_answer(SIGNED).message == found.message


def test_items_keep_their_order_and_lose_notes_of_ours():
    said = {"type": "message", "role": "user", "content": "Hi."}
    ours = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<summary>\nx\n</summary>"}]}
    usage = {"input_tokens": 5, "output_tokens": 3}
    found = read_answer({"object": "response.compaction", "output": [said, ours, ITEM], "usage": usage})
    assert found.message == {"role": "assistant", "content": [said, ITEM]}
    assert (found.keeps, found.input_tokens, found.output_tokens) == (True, 5, 3)


def test_kept_items_lose_what_demands_reasoning():
    said = {"type": "message", "id": "msg_1", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]}
    answered = {
        "type": "message", "id": "msg_2", "role": "assistant", "status": "completed", "phase": "commentary",
        "content": [{"type": "output_text", "text": "Well.", "annotations": []}, {"type": "refusal", "refusal": "No."}],
    }  # fmt: skip  # one thought
    searched = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search"}, "status": "completed"}
    listed = {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}
    found = read_answer([said, answered, searched, listed, ITEM])
    plain = {"type": "message", "role": "assistant", "phase": "commentary", "content": "Well.\nNo."}
    assert found.message == {"role": "assistant", "content": [said, plain, listed, ITEM]}


def test_a_block_without_signature_keeps_no_reasoning():
    assert read_answer(BY_THRESHOLD).keeps is False
