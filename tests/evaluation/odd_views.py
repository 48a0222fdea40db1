"""Histories that are odd, with views that represent them and views that each break one rule of the oracle."""

from typing import Any, NamedTuple

from tests.evaluation.messages import (
    Message,
    anthropic_call,
    anthropic_result,
    bedrock_call,
    calls,
    gemini_call,
    said,
    system,
    tool,
    user,
)

WAITING = "[no result recorded yet: it is still waited for]"


class Case(NamedTuple):
    """A view of a history; `words` is in the line of each problem, empty if there is none."""

    history: list[Message]
    view: list[Message]
    words: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 # read only


def text(words: str) -> Message:
    return {"type": "text", "text": words}


def answered(known: str, content: Any, *more: Message) -> Message:
    """Anthropic's result, with what the user said next to it."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": known, "content": content}, *more]}


def later(known: str, place: int, words: str = "The job is done.", name: str = "f") -> Message:
    return user(f"Later result of {name} ({known}) [ref:{place}]:\n<result>\n{words}\n</result>")


def asks(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


GO, ON = user("Go on with it."), user("And now the tests.")
SEARCH: Message = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND: Message = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
SECOND = [GO, calls("a"), tool("a", "Job started."), said("It runs."), tool("a", "The job is done."), said("Fine.")]
LATE = [GO, calls("a"), ON, said("Meanwhile."), tool("a", "The job is done."), said("Fine.")]
WORDS = [GO, anthropic_call("a"), ON, said("Meanwhile."), answered("a", "The job is done.", text("Look at it."))]
UNKNOWN = [GO, said("Hm."), tool("z", "From nowhere it came."), said("So.")]
CUT = [GO, calls("a", arguments='{"path": "src/app.py", "text": "imp'), ON]
CUT_BLOCK = [GO, anthropic_call("a"), ON]
CUT_BLOCK[1]["content"][0]["input"] = '{"path": "src/app.py'
HALF = [user("Half \ud83d of it, please."), said("Yes.")]
DATA = '{"rows": [1, 2, 3], "total": 3, "unit": "s"}'
MCP = '{"content": [{"type": "text", "text": "{\\"rows\\": [1, 2, 3], \\"unit\\": \\"s\\"}"}], "structuredContent": %s}'
BOTH = MCP % '{"rows": [1, 2, 3], "unit": "s"}'
TWICE_IN_BEDROCK = [
    {"role": "user", "content": [{"text": "Go on with it."}]},
    bedrock_call("a"),
    {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": BOTH}]}}]},
]
TWICE_IN_GEMINI = [
    {"role": "user", "parts": [{"text": "Go on with it."}]},
    gemini_call("a"),
    {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f", "response": {"output": BOTH}}}]},
]
ONE = MCP % '"the same data as above"'

SOUND: dict[str, Case] = {
    "a second result as text": Case(SECOND, [*SECOND[:4], later("a", 4), SECOND[5]]),
    "a second result of the user's dialect": Case(
        [GO, anthropic_call("a"), anthropic_result("a"), said("It runs."), answered("a", "Done, all."), said("Fine.")],
        [GO, anthropic_call("a"), anthropic_result("a"), said("It runs."), later("a", 4, "Done, all."), said("Fine.")],
    ),
    "a second result that is newest": Case(SECOND[:5], [*SECOND[:4], later("a", 4)]),
    "a second result in a digest": Case(
        [*SECOND, ON, said("Done.")], [GO, said("<summary>[ref:1-5] turns</summary>"), ON, said("Done.")]
    ),
    "a late result as text": Case(LATE, [*LATE[:2], tool("a", WAITING), *LATE[2:4], later("a", 4), LATE[5]]),
    "a late result that is newest": Case(LATE[:5], [*LATE[:2], tool("a", WAITING), *LATE[2:4], later("a", 4)]),
    "a late result next to words": Case(
        WORDS,
        [
            *WORDS[:2],
            answered("a", WAITING),
            *WORDS[2:4],
            {"role": "user", "content": [text(later("a", 4)["content"]), text("Look at it.")]},
        ],
    ),
    "a late result next to the user's last words": Case(
        WORDS,
        [
            WORDS[0],
            said("<summary>[ref:1-3] turns</summary>"),
            {"role": "user", "content": [text(later("a", 4)["content"]), text("Look at it.")]},
        ],
    ),
    "a result after the user's words, as text": Case(
        [*LATE[:3], LATE[4]], [*LATE[:2], tool("a", WAITING), ON, later("a", 3)]
    ),
    "a result after the user's words, moved up": Case([*LATE[:3], LATE[4]], [*LATE[:2], LATE[4], ON]),
    "an unknown call": Case(
        UNKNOWN,
        [GO, said("Hm."), user("Result of an unknown call z [ref:2]:\nFrom nowhere it came."), said("So.")],
    ),
    "an open call": Case([GO, calls("a")], [GO, calls("a"), tool("a", WAITING)]),
    "cut arguments": Case(
        CUT,
        [GO, calls("a"), tool("a", '[not run: the call was cut; they begin: {"path": "src/app.py", "text": "imp]'), ON],
    ),
    "cut arguments of a block": Case(
        CUT_BLOCK, [GO, anthropic_call("a"), answered("a", '[not run: it begins: {"path": "src/app.py]'), ON]
    ),
    "a server's tool in two messages": Case(
        [GO, asks(SEARCH), asks(FOUND, text("Found.")), ON], [GO, asks(SEARCH), asks(FOUND, text("Found.")), ON]
    ),
    "a server's call that was cut": Case([GO, asks(text("I look."), SEARCH), ON], [GO, asks(text("I look.")), ON]),
    "a server's call at the very end": Case([GO, asks(SEARCH)], [GO, asks(SEARCH)], options={"takes_prefill": False}),
    "an empty answer": Case([GO, asks(), ON], [GO, ON]),
    "an empty answer with a marker": Case([GO, said(""), ON], [GO, said("[no answer]"), ON]),
    "an empty block": Case([GO, asks(text(""), text("Hm.")), ON], [GO, asks(text("Hm.")), ON]),
    "thinking of a cut stream": Case(
        [GO, asks({"type": "thinking", "thinking": "Let me"}, text("Hm.")), ON], [GO, asks(text("Hm.")), ON]
    ),
    "half a character": Case(HALF, [user("Half � of it, please."), said("Yes.")]),
    "a structure as JSON": Case([GO, calls("a"), tool("a", {"x": 1})], [GO, calls("a"), tool("a", '{"x":1}')]),  # type: ignore[arg-type] # the odd history
    "arguments as JSON": Case(
        [GO, calls("a", arguments={"x": 1}), tool("a")],  # type: ignore[arg-type]  # the odd history
        [GO, calls("a", arguments='{"x":1}'), tool("a")],
    ),
    "one of two copies": Case([GO, calls("a"), tool("a", BOTH)], [GO, calls("a"), tool("a", ONE)]),
    "an answer at the end": Case([GO, said("Done.")], [GO, said("Done.")]),
}
"""Views that represent their histories."""

BROKEN: dict[str, list[Case]] = {
    "unasked": [
        Case(
            [GO, calls("a"), tool("a"), said("x")],
            [GO, said("<summary>[ref:1-2]</summary>"), tool("a"), said("x")],
            "without that call before it",
        ),
    ],
    "unanswered": [Case([GO, calls("a")], [GO, calls("a")], "has no result at the end")],
    "blocks": [
        Case(
            [GO, anthropic_call("a"), answered("a", "42", text("So?"))],
            [GO, anthropic_call("a"), {"role": "user", "content": [text("So?"), *anthropic_result("a")["content"]]}],
            "results come after other content",
        )
    ],
    "server-pairs": [
        Case(
            [GO, asks(SEARCH, FOUND, text("Found.")), ON],
            [GO, asks(FOUND, text("Found.")), ON],
            "without its call before it",
        ),
        Case([GO, asks(text("I look."), SEARCH), ON], [GO, asks(text("I look."), SEARCH), ON], "has no result"),
    ],
    "made": [Case([GO, calls("a"), tool("a")], [GO, calls("z"), tool("z"), calls("a"), tool("a")], "was never made")],
    "arguments": [
        Case(
            [GO, calls("a", arguments='{"x": 1'), tool("a")],
            [GO, calls("a", arguments='{"x": 1'), tool("a")],
            "are not JSON",
        )
    ],
    "types": [
        Case([*CUT_BLOCK[:2], answered("a", "42")], [*CUT_BLOCK[:2], answered("a", "42")], "changed their type to str"),
        Case(
            [GO, calls("a", arguments={}), tool("a")],  # type: ignore[arg-type]  # the odd history
            [GO, calls("a", arguments={}), tool("a")],  # type: ignore[arg-type]  # likewise
            "changed their type to dict",
        ),
        Case(
            [GO, calls("a", arguments={"x": 1}), tool("a")],  # type: ignore[arg-type]  # the odd history
            [GO, calls("a"), tool("a")],
            "lost its arguments",
        ),
    ],
    "cut": [Case(CUT, [GO, calls("a"), tool("a", WAITING), ON], "does not quote its arguments")],
    "thoughts": [
        Case(
            [GO, asks({"type": "thinking", "thinking": "Hm.", "signature": "s"}, text("Yes.")), ON],
            [GO, asks({"type": "thinking", "thinking": "Hm, no.", "signature": "s"}, text("Yes.")), ON],
            "is in no message of the history",
        )
    ],
    "halves": [Case([GO, said("So\ud83d."), ON], [GO, said("So\ud83d."), ON], "half a character")],
    "empty-blocks": [
        Case([GO, asks(text(" "), text("Hm.")), ON], [GO, asks(text(" "), text("Hm.")), ON], "without content"),
        Case(
            [GO, asks({"type": "thinking", "thinking": "Let me"}, text("Hm.")), ON],
            [GO, asks({"type": "thinking", "thinking": "Let me"}, text("Hm.")), ON],
            "without content",
        ),
    ],
    "empty-answers": [Case([GO, said(""), ON], [GO, said(""), ON], "an answer that says nothing")],
    "not-text": [
        Case([GO, calls("a"), tool("a", {"x": 1})], [GO, calls("a"), tool("a", {"x": 1})], "no text or list of blocks"),  # type: ignore[arg-type] # the odd history
        Case([GO, calls("a"), tool("a", None)], [GO, calls("a"), tool("a", None)], "no text or list"),  # type: ignore[arg-type] # the odd history
        Case(
            [GO, gemini_call("a"), {"role": "user", "parts": [{"functionResponse": {"id": "a", "response": "42"}}]}],
            [GO, gemini_call("a"), {"role": "user", "parts": [{"functionResponse": {"id": "a", "response": "42"}}]}],
            "is no object",
        ),
        Case(
            [GO, bedrock_call("a"), {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": "4"}}]}],
            [GO, bedrock_call("a"), {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": "4"}}]}],
            "no text or list",
        ),
    ],
    "twice": [
        Case([GO, calls("a"), tool("a", BOTH)], [GO, calls("a"), tool("a", BOTH)], "the same data twice"),
        Case(
            [GO, anthropic_call("a"), answered("a", [text(DATA), text(DATA)])],
            [GO, anthropic_call("a"), answered("a", [text(DATA), text(DATA)])],
            "the same data twice",
        ),
        Case(TWICE_IN_BEDROCK, TWICE_IN_BEDROCK, "the same data twice"),
        Case(TWICE_IN_GEMINI, TWICE_IN_GEMINI, "the same data twice"),
    ],
    "prefill": [
        Case([GO, said("Done.")], [GO, said("Done.")], "ends with an answer", {"takes_prefill": False}),
    ],
    "lost": [
        Case(SECOND, [*SECOND[:4], SECOND[5]], "history[4], is not in the view and has no reference"),
        Case(UNKNOWN, [GO, said("Hm."), said("So.")], "history[2], is not in the view"),
        Case(LATE, [*LATE[:2], tool("a", WAITING), *LATE[2:4], LATE[5]], "history[4], is not in the view"),
        Case(
            [GO, calls("a"), tool("a"), said("x")],
            [GO, calls("a"), tool("a", WAITING), said("x")],
            "history[2], is not",
        ),
    ],
    "moved": [
        Case(LATE, [*LATE[:2], LATE[4], *LATE[2:4], later("a", 4), LATE[5]], "at its call"),
        Case(SECOND, [*SECOND[:2], SECOND[4], SECOND[3], later("a", 4), SECOND[5]], "at its call"),
    ],
    "frames": [
        Case(
            SECOND, [*SECOND[:4], later("a", 4, "Something else entirely."), SECOND[5]], "in no message of the history"
        ),
        Case(SECOND, [*SECOND[:4], later("b", 4, name="other"), SECOND[5]], "in no message of the history"),
    ],
    "newest": [
        Case(
            [GO, calls("a"), tool("a"), said("x"), ON],
            [GO, calls("a"), tool("a"), said("x"), ON, said("It is done, I think.")],
            "is not the newest of the view",
        ),
    ],
    "order": [
        Case(
            [GO, said("x"), ON, said("y"), user("three")],
            [GO, said("y"), ON, said("x"), user("three")],
            "out of order",
        ),
        Case(SECOND, [*SECOND[:3], later("a", 4), SECOND[3], SECOND[5]], "out of order"),
    ],
    "alternation": [Case([GO, said("x"), ON], [GO, ON], "two messages of role user in a row")],
    "leading": [Case([system(), GO], [GO], "leading system message")],
    "users": [
        Case([GO, said("x"), ON, said("y"), user("three")], [ON, said("y"), user("three")], "the first user message")
    ],
    "begins": [
        Case([GO, said("x"), ON], [said("<summary></summary>"), GO, said("x"), ON], "begins with no user message")
    ],
}
"""By rule: views that break only this rule."""
