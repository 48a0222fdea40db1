"""Items of OpenAI's Responses API: appended in any form, read, answered, and sent as a request takes them."""

import json
from typing import Any

import pytest

from backscroll import ContextManager, MessageError
from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import problems
from backscroll.messages import read_message, validated
from backscroll.messages.rewriter import answer_missing, replace, replaceable
from backscroll.view.rendering import WAITING
from tests.builders import PIXEL, assistant
from tests.fakes import count_quarter
from tests.messages.requested import faults

types = pytest.importorskip("openai.types.responses")

HELLO = {"role": "user", "content": "Which color is it?"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
SAID = {"type": "output_text", "text": "It is red.", "annotations": []}
REPLY = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [SAID]}
LOOK = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": null}'}
RUN = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c2", "name": "run", "input": "ls -l"}
FOUND = {"type": "function_call_output", "call_id": "c1", "output": "red"}
SHELL = {"type": "shell_call", "id": "sh_1", "call_id": "c3", "action": {"commands": ["ls"]}, "status": "completed"}
LOCAL = {
    "type": "local_shell_call", "id": "ls_1", "call_id": "c4", "status": "completed",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
}  # fmt: skip  # one thought
CLICK = {
    "type": "computer_call", "id": "cu_1", "call_id": "c5", "status": "completed", "pending_safety_checks": [],
    "action": {"type": "screenshot"},
}  # fmt: skip  # one thought
PATCH = {
    "type": "apply_patch_call", "id": "ap_1", "call_id": "c6", "status": "completed",
    "operation": {"type": "delete_file", "path": "a.py"},
}  # fmt: skip  # one thought
FIND = {
    "type": "tool_search_call", "id": "ts_1", "call_id": "c7", "arguments": {"query": None}, "execution": "client",
    "status": "completed",
}  # fmt: skip  # one thought
PROGRAM = {"type": "program", "id": "pr_1", "call_id": "c8", "code": "look()", "fingerprint": "f"}
ASK = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "read", "server_label": "files", "arguments": "{}"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "red"}}
DRAWN = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": PIXEL}
MADE = {
    "type": "code_interpreter_call", "id": "ci_1", "container_id": "cn_1", "code": "1+1", "outputs": None,
    "status": "completed",
}  # fmt: skip  # one thought
COMPACTED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "b3BhcXVl" * 40}
CALLS = (LOOK, RUN, SHELL, LOCAL, CLICK, PATCH, FIND, PROGRAM, ASK)


def response(*items: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    """What the API answers."""
    return {
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "model": "gpt-6.2-sol",
        "output": list(items), "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "status": status,
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {}, "temperature": None,
        "top_p": None,
    }  # fmt: skip  # one thought


def after(*messages: Any, **options: Any) -> ContextManager:
    context = ContextManager(tokenizer=count_quarter, **options)
    context.append(HELLO, *messages)
    return context


def waiting_output(call: dict[str, Any]) -> dict[str, Any]:
    """What a view sends for the output of a call that has none."""
    message = assistant([call])
    (answer,) = answer_missing(message, read_message(message).call_parts, [], lambda _: WAITING)
    (output,) = answer["content"]
    return output


def refused(view: list[dict[str, Any]]) -> list[str]:
    """What the request type of the client does not take."""
    return [fault for item in view for fault in faults(item, types.ResponseInputItemParam)]


ITEMS = pytest.mark.parametrize("item", [REPLY, *CALLS, SEARCH, DRAWN, MADE, COMPACTED], ids=lambda item: item["type"])


@ITEMS
@pytest.mark.parametrize("form", ["object", "dump", "items", "dumped items"])
def test_response_is_sent_as_a_request_takes_it(item, form):
    """In every form, with the nulls and notes of the client: the view holds the items alone, as they were. A call that
    a tool has to answer gets a placeholder.
    """
    given = [THOUGHT, item] if item is not COMPACTED else [item]
    answer = types.Response.model_validate(response(*given))
    context = {
        "object": lambda: after(answer),
        "dump": lambda: after(answer.model_dump()),
        "items": lambda: after(*answer.output),
        "dumped items": lambda: after(*(each.model_dump() for each in answer.output)),
    }[form]()
    view = context.get_messages_for_request()
    assert refused(view) == []
    waiting = [waiting_output(item)] if item in CALLS and item not in (PROGRAM, ASK) else []
    assert view == [HELLO, *given, *waiting]
    assert problems(view, context.get_messages()) == []
    assert len(context.get_messages()) == 2 or given == [REPLY]


@ITEMS
def test_each_type_of_item_is_read(item):
    reading = read_message(validated(assistant([item])))
    (part,) = reading.parts
    kinds = {"message": "text", "image_generation_call": "media"}
    expected = "call" if item in CALLS else kinds.get(item["type"], "opaque")
    assert part.kind == expected
    assert part.text or part.media
    assert part.kind != "call" or (part.id and part.name)
    assert reading.flags.critical == (item is COMPACTED)


def test_item_of_a_view_is_read_by_itself():
    """As the command line and the evaluation read views."""
    view = after(THOUGHT, LOOK, FOUND).get_messages_for_request()
    assert [read_message(item).role for item in view] == ["user", "assistant", "assistant", "tool"]
    assert [read_message(item).calls for item in view] == [(), (), ("c1",), ()]


@pytest.mark.parametrize("call", CALLS, ids=lambda item: item["type"])
def test_call_without_output_gets_one_of_its_type(call):
    """In the middle of a conversation, as the request type demands."""
    output = waiting_output(call)
    assert faults(output, types.ResponseInputItemParam) == []
    assert call["type"] in ("computer_call", "tool_search_call") or WAITING in json.dumps(output)
    context = after(*[THOUGHT, call], {"role": "user", "content": "and now?"})
    view = context.get_messages_for_request()
    assert view == [HELLO, THOUGHT, call, output, {"role": "user", "content": "and now?"}]
    assert problems(view, context.get_messages()) == []
    assert strangers(view, context.get_messages()) == [] or call is CLICK


def test_late_output_moves_behind_its_call():
    hook = {"role": "user", "content": "reminder", "metadata": {"source": "hook"}}
    other = {**LOOK, "id": "fc_2", "call_id": "c9"}
    late = {**FOUND, "call_id": "c9"}
    context = after(THOUGHT, LOOK, other, FOUND, hook, late)
    view = context.get_messages_for_request()
    assert view == [HELLO, THOUGHT, LOOK, other, FOUND, late, hook]
    assert problems(view, context.get_messages()) == []


def test_outputs_of_two_rounds_in_one_message_are_parted():
    second = {**LOOK, "id": "fc_2", "call_id": "c9"}
    late = {**FOUND, "call_id": "c9"}
    context = after(assistant([LOOK]), assistant([second]), {"role": "tool", "content": [late, FOUND]})
    view = context.get_messages_for_request()
    assert view == [HELLO, LOOK, FOUND, second, late]
    assert problems(view, context.get_messages()) == []


def test_bare_items_are_kept_in_one_message_a_run():
    """What the model made in a row is one message, each output its own, and `metadata` is the message's."""
    context = after(THOUGHT, LOOK, {**FOUND, "metadata": {"pinned": True}}, REPLY)
    assert context.get_messages()[1:] == [
        assistant([THOUGHT, LOOK]),
        {"role": "tool", "content": [FOUND], "metadata": {"pinned": True}},
        REPLY,
    ]
    context.set_messages([HELLO, THOUGHT, LOOK, {**FOUND, "output": "blue"}])
    assert context.get_messages()[2] == {"role": "tool", "content": [{**FOUND, "output": "blue"}]}


@pytest.mark.parametrize(
    "output",
    [
        "line\n" * 900,
        [{"type": "input_text", "text": "line\n" * 900}],
        [
            {"type": "input_text", "text": "line\n" * 900},
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"},
        ],
    ],
    ids=["text", "list", "picture"],
)
def test_shortened_output_is_what_a_request_takes(output):
    """Excerpted, previewed or cleared, as a text or in its list."""
    context = after(budget=2_500)
    for number in range(8):
        call = {**LOOK, "id": f"fc_{number}", "call_id": f"c{number}"}
        context.append(call, {**FOUND, "call_id": f"c{number}", "output": output})
        view = context.get_messages_for_request()
        assert refused(view) == []
        assert problems(view, context.get_messages()) == []
    assert "[ref:" in json.dumps(view)


def test_part_of_a_picture_is_replaced_by_input_text():
    picture = {"type": "input_image", "detail": "auto", "image_url": "https://example.org/a.png"}
    message = {"role": "user", "content": [picture]}
    reading = read_message(message)
    assert replaceable(reading, reading.parts[0])
    assert replace(message, reading, {0: "[a picture]"})["content"] == [{"type": "input_text", "text": "[a picture]"}]


def test_compaction_stays_in_every_view():
    """What came before it is in it alone, so nothing may digest it."""
    context = after(assistant([COMPACTED]), budget=1_500)
    for number in range(30):
        call = {**LOOK, "id": f"fc_{number}", "call_id": f"c{number}"}
        context.append(call, {**FOUND, "call_id": f"c{number}", "output": "line\n" * 200})
        view = context.get_messages_for_request()
        assert COMPACTED in view
        assert problems(view, context.get_messages()) == []
    assert "compacted here" in json.dumps(view)


def test_program_output_of_a_later_response_joins_its_program():
    done = {"type": "program_output", "id": "po_1", "call_id": "c8", "result": "red", "status": "completed"}
    context = after(response(THOUGHT, PROGRAM), response(done, REPLY))
    view = context.get_messages_for_request()
    assert view == [HELLO, THOUGHT, PROGRAM, done, REPLY]
    assert {line.seq for line in context.explain()} == {0, 1, 2}


def test_calls_of_a_program_stay_with_it():
    """It goes on over several responses, and is not taken for a call that nobody answered."""
    caller = {"caller": {"type": "program", "caller_id": "c8"}}
    done = {"type": "program_output", "id": "po_1", "call_id": "c8", "result": "red", "status": "completed"}
    context = after(THOUGHT, PROGRAM, {**LOOK, **caller}, {**FOUND, **caller})
    more = {**LOOK, **caller, "id": "fc_2", "call_id": "c9"}
    expected = [HELLO, THOUGHT, PROGRAM, {**LOOK, **caller}, {**FOUND, **caller}]
    for given in (response(more), {**FOUND, **caller, "call_id": "c9"}, response(done, REPLY)):
        context.append(given)
        expected += given.get("output", []) if "id" in given else [given]
        if [call.id for call in context.open_calls()] == ["c9"]:
            continue  # a loop runs the call before it asks
        view = context.get_messages_for_request()
        assert view == expected
        assert problems(view, context.get_messages()) == []
    assert context.open_calls() == []
    context.append({"role": "user", "content": "and now?"}, *(assistant(f"so {number}") for number in range(9)))
    context.trim(keep_last=4)
    assert "c8" not in json.dumps(context.get_messages_for_request())
    assert "c9" not in json.dumps(context.get_messages_for_request())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([LOOK, THOUGHT], "end with a reasoning item.*in one call"),
        ([{"type": "compaction_trigger"}], "compaction_trigger.*add it to the view"),
        ([{"type": "function_call", "name": "look", "arguments": "{}"}], "no `id`"),
        ([{"type": "function_call_output", "output": "red"}], "names? the call|no `tool_call_id`"),
        ([{"type": "later_call", "call_id": "c1"}], "type 'later_call'"),
    ],
)
def test_items_that_could_never_be_sent_are_refused(given, words):
    context = ContextManager(tokenizer=count_quarter)
    with pytest.raises(MessageError, match=words):
        context.append(*given)
    assert context.get_messages() == []


def test_blocks_of_langchain_are_no_items():
    """Its messages mix items with texts and list the calls again: counted once, kept whole, and never taken apart."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
    mixed = assistant([THOUGHT, {"type": "text", "text": "I look."}, LOOK], tool_calls=calls)
    answer = {"role": "tool", "tool_call_id": "c1", "content": "red"}
    assert read_message(mixed).calls == ("c1",)
    assert after(mixed, answer).get_messages_for_request() == [HELLO, mixed, answer]
