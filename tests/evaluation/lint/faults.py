"""Faults, each planted into material without one: what is sent, and the one finding that must come of it."""

import copy
import json
import random
import string
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from backscroll.evaluation.lint import RULES, Finding
from backscroll.evaluation.lint.finding import Rule
from backscroll.evaluation.lint.talk import Usage
from tests.evaluation.lint.agents import (
    MARK,
    PROMPT,
    Body,
    anthropic,
    bedrock,
    chat,
    found_in,
    found_in_transcript,
    gemini,
    responses,
    text_of,
)

_random = random.Random(24)
KEY = "ghp_" + "".join(_random.choices(string.ascii_letters + string.digits, k=36))
CLOUD_KEY = "AKIA" + "".join(_random.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=16))
WIDE = "iVBORw0KGgoAAAANSUhEUgAAI" + "ygAAAAQCAIAAAC"  # a header of 9,000 x 16 px
LONG = "The value of this field is documented at length in the manual of the service. "


class Fault(NamedTuple):
    name: str
    rule: str
    place: str
    find: Callable[..., list[Finding]]
    severity: str = ""
    """`""`: not looked at."""


FAULTS: list[Fault] = []


def _sent(rule: str, place: str, bodies: Callable[[], list[Body]], severity: str = "") -> Callable[..., Any]:
    """Plant a fault into requests: the function changes the bodies."""

    def plant(change: Callable[[list[Body]], None]) -> None:
        def find(rules: Sequence[Rule] = RULES) -> list[Finding]:
            sent = bodies()
            change(sent)
            return found_in(sent, rules)

        FAULTS.append(Fault(change.__name__.strip("_"), rule, place, find, severity))

    return plant


def _recorded(rule: str, place: str, severity: str = "", **more: Any) -> Callable[..., Any]:
    """Plant a fault into a transcript: the function changes its messages."""

    def plant(change: Callable[[list[Body]], None]) -> None:
        def find(rules: Sequence[Rule] = RULES) -> list[Finding]:
            messages = transcript()
            change(messages)
            return found_in_transcript(messages, rules, **more)

        FAULTS.append(Fault(change.__name__.strip("_"), rule, place, find, severity))

    return plant


def transcript() -> list[Body]:
    """The messages of an agent, as a recorder keeps them."""
    return [*chat()[-1]["messages"], {"role": "assistant", "content": "Done."}]


# -- the prefix --


@_sent("volatile-prefix", "request 2, system", anthropic, "warning")
def _time_in_the_system_prompt(bodies: list[Body]) -> None:
    for at, body in enumerate(bodies):
        body["system"][0]["text"] = f"It is Mon Nov 23 2026, 10:{at:02}:13.\n" + body["system"][0]["text"]
    _without_thinking(bodies)


@_sent("volatile-prefix", "request 2, messages[0]", chat)
def _uuid_in_a_system_message(bodies: list[Body]) -> None:
    for at, body in enumerate(bodies):
        session = f"Session: 6f1c2d3e-0000-4000-8000-{at:012}\n"
        body["messages"][0]["content"] = session + body["messages"][0]["content"]


@_sent("volatile-prefix", "request 2, tools", anthropic)
def _counter_in_a_tool_definition(bodies: list[Body]) -> None:
    for at, body in enumerate(bodies):
        body["tools"][0]["description"] += f" Called {at} times."
    _without_thinking(bodies)


@_sent("volatile-prefix", "request 3, input[0]", responses)
def _request_id_in_the_first_message(bodies: list[Body]) -> None:
    """The first request shares no message with the second, so that the two may be two tasks of one template."""
    for at, body in enumerate(bodies):
        body["input"][0]["content"][0]["text"] += f"\n{PROMPT}\nrequest req_01Ab{at}Cd{at}Ef99"
        body["input"] = [item for item in body["input"] if item.get("type") != "reasoning"]


@_recorded("volatile-prefix", "messages[0]", "note")
def _time_in_a_recorded_system_prompt(messages: list[Body]) -> None:
    messages[0]["content"] += "\nCurrent time: 2026-11-23 10:12:33\n"


@_sent("tools-changed", "request 5, tools", anthropic, "warning")
def _tool_added_in_the_middle(bodies: list[Body]) -> None:
    for body in bodies[4:]:
        body["tools"].append({"name": "search", "description": "Searches.", "input_schema": {"type": "object"}})
    _without_thinking(bodies)


@_sent("tools-changed", "request 4, tools", anthropic)
def _order_of_tools_changed(bodies: list[Body]) -> None:
    bodies[3]["tools"].reverse()
    _without_thinking(bodies)


@_sent("prefix-rewritten", "request 13, messages[1]", lambda: chat(14), "warning")
def _early_message_reworded(bodies: list[Body]) -> None:
    for body in bodies[12:]:
        body["messages"][1]["content"] = body["messages"][1]["content"].replace("Please repair", "Kindly repair")


@_sent("prefix-rewritten", "request 6, system", bedrock)
def _system_prompt_reworded(bodies: list[Body]) -> None:
    for body in bodies[5:]:
        body["system"][0]["text"] += " Answer in French."


@_sent("small-compaction", "request 14, messages[5]", lambda: chat(14), "warning")
def _one_old_result_shortened(bodies: list[Body]) -> None:
    for body in bodies[13:]:
        body["messages"][5]["content"] = body["messages"][5]["content"][:300] + " [...]"


def _without_thinking(bodies: list[Body]) -> None:
    for body in bodies:
        for message in body["messages"]:
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


# -- reasoning --


@_sent("stale-reasoning", "request 8, messages[13].content[0]", anthropic, "error")
def _result_edited_before_thinking(bodies: list[Body]) -> None:
    bodies[-1]["messages"][12]["content"][0]["content"] = "shortened"


@_sent("stale-reasoning", "request 4, messages[5].content[0]", lambda: anthropic(4), "error")
def _thinking_removed_from_the_middle(bodies: list[Body]) -> None:
    del bodies[-1]["messages"][3]["content"][0]


@_sent("stale-reasoning", "request 8, input[16]", responses, "warning")
def _output_edited_before_reasoning(bodies: list[Body]) -> None:
    bodies[-1]["input"][15]["output"] = "shortened"


@_sent("missing-reasoning", "request 8, contents[13]", gemini, "error")
def _signature_lost(bodies: list[Body]) -> None:
    del bodies[-1]["contents"][13]["parts"][0]["thoughtSignature"]


@_sent("missing-reasoning", "request 8, messages[14]", lambda: chat(model="deepseek-v4-pro"))
def _reasoning_content_lost(bodies: list[Body]) -> None:
    del bodies[-1]["messages"][14]["reasoning_content"]


@_sent("missing-reasoning", "request 8, input[22]", responses)
def _reasoning_without_its_follower(bodies: list[Body]) -> None:
    bodies[-1]["input"].append({"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "sealed9"})


@_sent("missing-reasoning", "request 8, messages[13].content[0]", lambda: anthropic(thinking={"type": "enabled"}))
def _open_round_without_thinking(bodies: list[Body]) -> None:
    del bodies[-1]["messages"][13]["content"][0]


# -- marks --


@_sent("too-many-marks", "request 8, messages[14].content[0]", anthropic, "error")
def _a_fifth_mark(bodies: list[Body]) -> None:
    for at in (0, 2, 4):
        bodies[-1]["messages"][at]["content"][-1].update(MARK)


@_sent("mark-order", "request 1, messages[0].content[0]", anthropic, "error")
def _hour_after_five_minutes(bodies: list[Body]) -> None:
    for body in bodies:
        body["messages"][-1]["content"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


@_sent("mark-misplaced", "request 8, messages[13].content[0]", anthropic, "error")
def _mark_on_thinking(bodies: list[Body]) -> None:
    bodies[-1]["messages"][13]["content"][0].update(MARK)


@_sent("no-marks", "request 2, messages", anthropic, "warning")
def _no_mark_at_all(bodies: list[Body]) -> None:
    for body in bodies:
        del body["system"][0]["cache_control"]
        del body["messages"][-1]["content"][-1]["cache_control"]


@_sent("lookback", "request 9, messages[16].content[11]", anthropic, "warning")
def _twelve_calls_in_one_step(bodies: list[Body]) -> None:
    ids = [f"many_{at}" for at in range(12)]
    calls = [{"type": "tool_use", "id": known, "name": "read_file", "input": {"at": known}} for known in ids]
    results: list[Body] = [{"type": "tool_result", "tool_use_id": known, "content": f"read {known}"} for known in ids]
    body = copy.deepcopy(bodies[-1])
    del body["messages"][-1]["content"][-1]["cache_control"]
    results[-1].update(MARK)
    body["messages"] += [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    bodies.append(body)


@_sent("short-prefix", "request 1, system[0]", lambda: anthropic(2), "note")
def _marks_below_the_minimum(bodies: list[Body]) -> None:
    for body in bodies:
        body["model"] = "claude-haiku-4-5"


_USAGE = [None, None, Usage(1_000, 0, 20_000, 20_000, 300), None, Usage(1_020, 20_000, 900, 20_900, 300), None]


@_recorded("cache-expired", "messages[6]", "note", recorded=[*_USAGE, Usage(2_000, 0, 21_500, 21_500, 300)])
def _pause_of_sixteen_minutes(messages: list[Body]) -> None:
    del messages[8:]


# -- sizes --


@_recorded("repeated-read", "messages[7]", "note")
def _same_file_read_three_times(messages: list[Body]) -> None:
    for at in (5, 7, 9):
        messages[at]["content"] = text_of(99) * 6


@_sent("large-schema", "request 1, tools[0]", anthropic, "note")
def _huge_tool_definition(bodies: list[Body]) -> None:
    for body in bodies:
        body["tools"][1]["description"] = LONG * 150
        body["tools"].reverse()


@_sent("unused-tools", "request 8, tools", anthropic, "note")
def _tools_that_nothing_calls(bodies: list[Body]) -> None:
    for body in bodies:
        body["tools"] += [
            {"name": f"tool_{at}", "description": LONG * 10, "input_schema": {"type": "object"}} for at in range(8)
        ]


@_recorded("large-result", "messages[3]", "note")
def _one_result_dominates(messages: list[Body]) -> None:
    messages[3]["content"] = "".join(f"row {at}: {at * at}\n" for at in range(3_000))


# -- content --


def _image(data: str) -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


@_sent("image-limits", "request 8, messages[14]", anthropic, "error")
def _image_over_ten_megabytes(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"].append(_image("A" * 10_500_000))


@_sent("image-limits", "request 8, messages[14]", anthropic)
def _image_over_eight_thousand_pixels(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"].append(_image(WIDE))


@_sent("image-limits", "request 8, messages[14]", anthropic)
def _six_hundred_and_one_images(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"] += [_image("")] * 601


@_sent("secrets", "request 8, messages[14]", anthropic, "error")
def _key_in_a_result(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"][0]["content"] += f"\nGITHUB={KEY}\n"


@_sent("secrets", "request 1, system[0]", anthropic)
def _key_in_the_system_prompt(bodies: list[Body]) -> None:
    for body in bodies:
        body["system"][0]["text"] += f"\nUse the account {CLOUD_KEY}.\n"


@_recorded("secrets", "messages[4]")
def _key_in_the_arguments_of_a_call(messages: list[Body]) -> None:
    messages[4]["tool_calls"][0]["function"]["arguments"] = f'{{"header": "Bearer {KEY}"}}'


# -- pairs --


@_sent("orphan-call", "request 8, messages[13]", anthropic, "error")
def _result_lost(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"] = [{"type": "text", "text": "And?", **MARK}]


@_recorded("orphan-call", "messages[2]", "warning")
def _result_lost_in_a_transcript(messages: list[Body]) -> None:
    del messages[3]


@_sent("orphan-result", "request 8, input[19]", responses, "error")
def _call_lost(bodies: list[Body]) -> None:
    del bodies[-1]["input"][19:21]


@_sent("orphan-result", "request 8, messages[14]", bedrock)
def _result_of_another_call(bodies: list[Body]) -> None:
    answer = {"toolResult": {"toolUseId": "other", "content": [{"text": "?"}]}}
    bodies[-1]["messages"][14]["content"].append(answer)


@_sent("misordered", "request 8, messages[16]", chat, "error")
def _user_between_call_and_result(bodies: list[Body]) -> None:
    bodies[-1]["messages"].insert(-1, {"role": "user", "content": "Stop?"})


@_sent("misordered", "request 8, messages[14]", anthropic)
def _text_before_a_result(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["content"].insert(0, {"type": "text", "text": "Here:"})


@_sent("duplicate-id", "request 8, messages[13]", anthropic, "error")
def _id_used_again(bodies: list[Body]) -> None:
    bodies[-1]["messages"][13]["content"][-1]["id"] = "toolu_1"
    bodies[-1]["messages"][14]["content"][0]["tool_use_id"] = "toolu_1"


@_sent("empty-content", "request 8, messages[14]", chat, "error")
def _assistant_says_nothing(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14:] = [{"role": "assistant", "content": None}, {"role": "user", "content": "And?"}]


@_sent("empty-content", "request 8, messages[13].content[1]", anthropic)
def _empty_text(bodies: list[Body]) -> None:
    bodies[-1]["messages"][13]["content"][1]["text"] = ""


@_sent("empty-content", "request 8, messages[13].content[1]", anthropic)
def _blank_text(bodies: list[Body]) -> None:
    bodies[-1]["messages"][13]["content"][1]["text"] = " \n"


# -- odd histories --


@_sent("second-result", "request 8, messages[16]", chat, "error")
def _second_result(bodies: list[Body]) -> None:
    bodies[-1]["messages"].append({**bodies[-1]["messages"][-1], "content": "And the rest."})


@_recorded("second-result", "messages[16]", "warning")
def _second_result_in_a_transcript(messages: list[Body]) -> None:
    messages.insert(-1, {"role": "tool", "tool_call_id": messages[-2]["tool_call_id"], "content": "And the rest."})


@_sent("late-result", "request 8, messages[17]", chat, "error")
def _late_result(bodies: list[Body]) -> None:
    talk = [{"role": "user", "content": "How long?"}, {"role": "assistant", "content": "Some minutes."}]
    bodies[-1]["messages"][-1:-1] = talk


@_sent("cut-arguments", "request 8, messages[14]", chat, "error")
def _arguments_cut_off(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["tool_calls"][0]["function"]["arguments"] = '{"path": "src/ap'


@_sent("cut-arguments", "request 8, messages[13]", bedrock)
def _input_as_text(bodies: list[Body]) -> None:
    bodies[-1]["messages"][13]["content"][0]["toolUse"]["input"] = '{"path": "src/ap'


@_sent("lone-surrogate", "request 8, messages[15]", chat, "error")
def _half_a_character(bodies: list[Body]) -> None:
    bodies[-1]["messages"][15]["content"] += " \ud83d"


SEARCH = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}


@_sent("server-pair", "request 8, messages[15]", anthropic, "error")
def _server_call_cut_off(bodies: list[Body]) -> None:
    bodies[-1]["messages"] += [{"role": "assistant", "content": [SEARCH]}, {"role": "user", "content": "Go on."}]


@_sent("server-pair", "request 8, messages[15]", anthropic)
def _server_result_alone(bodies: list[Body]) -> None:
    bodies[-1]["messages"] += [{"role": "assistant", "content": [FOUND]}, {"role": "user", "content": "Go on."}]


@_sent("result-not-text", "request 8, messages[15]", chat, "error")
def _structure_as_a_result(bodies: list[Body]) -> None:
    bodies[-1]["messages"][15]["content"] = {"lines": 3}


@_sent("result-not-text", "request 8, messages[14]", chat)
def _object_as_arguments(bodies: list[Body]) -> None:
    bodies[-1]["messages"][14]["tool_calls"][0]["function"]["arguments"] = {"path": "a.py"}


@_sent("data-twice", "request 8, messages[15]", chat, "note")
def _text_and_structure(bodies: list[Body]) -> None:
    data = {"rows": [text_of(at)[:60] for at in range(6)]}
    both = {"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data}
    bodies[-1]["messages"][15]["content"] = json.dumps(both)


@_sent("prefill", "request 8, messages[15]", anthropic, "error")
def _answer_at_the_end(bodies: list[Body]) -> None:
    bodies[-1]["messages"].append({"role": "assistant", "content": "The file"})


@_sent("lost-rank", "request 7, messages[4]", chat, "warning")
def _system_message_compacted_away(bodies: list[Body]) -> None:
    """The last request leaves out its first step, and the order behind it as well."""
    order = {"role": "system", "content": "From now on answer in French, in every case."}
    for body in bodies[1:7]:
        body["messages"].insert(4, dict(order))
    bodies[7]["messages"][2:10] = []
