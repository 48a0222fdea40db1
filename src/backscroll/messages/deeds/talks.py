"""Calls that speak with the user or with another agent, and lists of tasks: recognized by their arguments."""

import json
import re
from collections.abc import Mapping
from typing import Any

from backscroll.messages.deeds.arguments import Arguments, first_text
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import NO_RESULT
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.outcomes import ending_of
from backscroll.messages.deeds.texts import bounded, one_line
from backscroll.messages.deeds.verbs import reads_by_name, words_of

_QUESTION = 1_000  # characters of questions with their options; recorded ones have up to 521
_ANSWER = 2_000
_TASK = 200
_PLAN = 80  # characters from which an argument `plan` is one: shorter ones name what a customer pays
_ROWS = 100  # entries of a to-do list that are read; recorded ones have 8 at most
_TEXTS = ("content", "step", "title", "task", "text", "description", "subject", "name", "activeForm")
_STATUS = re.compile(
    r"pending|todo|to.do|open|not.started|in.progress|active|blocked|completed?|done|cancell?ed|skipped"
)
"""What hosts call the status of a task: a list of other things with a status is no to-do list."""
_AGENTS = frozenset("agent coworker delegate handoff spawn subagent teammate".split())
_OPTIONS = ("options", "choices", "follow_up", "suggestions", "suggested_responses", "predefined_options")
_ASKING = frozenset("ask clarify clarification elicit input question".split())
_ASKED = frozenset("clarify clarification elicit followup human user".split())
"""Words in the name of a tool that asks the user: one of each."""
_ANSWERED = re.compile(
    r"User has answered your questions?: |(?:The )?[Uu]ser (?:selected|responded|answered|said|replied)(?: with)?: ?|"
    r"<answer>\s*|Answer: ?"
)
"""The words of hosts before an answer."""
_ALONE = re.compile(r'\A"[^"]{1,2000}"="((?:[^"]|"(?!\s*\Z))*+)"\s*\Z')
"""The answer to one question, which the host repeats before it."""
_BEHIND_ANSWER = re.compile(r"(?<!\s)\s*(?:\.? ?You can now continue with the user's answers in mind\.?|</answer>)\s*$")


def task_deed(name: str, arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a call that writes a to-do list or one task; `None` if it does neither."""
    rows = next((rows for value in arguments.values() if (rows := _rows(value))), ())
    if rows:
        failed = framed is not None and ending_of(framed).failed
        return Deed("todo", "to-do list", failed=failed, rows=rows)
    status, words = first_text(arguments, ("status",)), words_of(name)
    task = first_text(arguments, ("taskId", "task_id", "todo_id", "todoId"))[:100]
    subject = first_text(arguments, ("subject", "title", "content", "task"))
    creates = "task" in words and "create" in words and subject and not {"prompt", "command"} & set(arguments)
    if not creates and not (task and (status or subject) and {"update", "set", "todo"} & set(words)):
        return None
    if not task and framed and (found := re.search(r"#?\b(\d{1,9})\b", framed.text[:200])):
        task = found.group(1)
    failed = framed is not None and ending_of(framed).failed
    row = (status or ("pending" if creates else ""), one_line(subject, _TASK))
    return Deed("todo", one_line(subject, _TASK) or f"task {task}", failed=failed, key=task, rows=(row,))


def _rows(value: Any) -> tuple[tuple[str, str], ...]:
    """Return status and text of each entry of a list of tasks; empty if it is no such list."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return ()
    if not isinstance(value, list) or not value:
        return ()
    entries = [entry for entry in value[:_ROWS] if isinstance(entry, Mapping)]
    rows = [
        (str(entry["status"])[:40], one_line(text, _TASK))
        for entry in entries
        if isinstance(entry.get("status"), str) and (text := first_text(entry, _TEXTS))
    ]
    is_list = len(rows) == len(entries) == min(len(value), _ROWS)
    return tuple(rows) if is_list and any(_STATUS.fullmatch(status) for status, _ in rows) else ()


def question_deed(name: str, arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a call that asks the user; `None` if it does not."""
    questions, words = arguments.get("questions"), set(words_of(name))
    to_user = len(words & _ASKING) > 0 and len(words & _ASKED) > 0
    if not (isinstance(questions, list) and questions):
        asked = first_text(arguments, ("question", "text", "prompt", "message", "query"))
        options = next((arguments[key] for key in _OPTIONS if isinstance(arguments.get(key), list | str)), None)
        if not asked or not (to_user or (options and "question" in arguments)):
            return None
        questions = [{"question": asked, "options": options if isinstance(options, list) else []}]
    what = " / ".join(_question(each) for each in questions[:10])
    outcome = NO_RESULT.outcome if framed is None else _answer(framed.text)
    if len(questions) == 1:
        outcome = _ALONE.sub(r"\1", outcome)
    return Deed("asked", what[:_QUESTION], outcome=outcome)


def _question(value: Any) -> str:
    if not isinstance(value, Mapping):
        return one_line(str(value)[:_QUESTION], 400)
    options = [
        first_text(each, ("label", "title", "text", "value")) if isinstance(each, Mapping) else str(each)[:120]
        for each in (value.get("options") or () if isinstance(value.get("options"), list) else ())[:8]
    ]
    listed = f" [{', '.join(one_line(option, 120) for option in options)}]" if options else ""
    return one_line(first_text(value, ("question", "text", "prompt", "header")), 400) + listed


def _answer(text: str) -> str:
    """Return what the user answered, without the words of the host around it."""
    text = text[: 2 * _ANSWER].strip()
    if found := _ANSWERED.match(text):
        text = text[found.end() :]
    return _BEHIND_ANSWER.sub("", text)[:_ANSWER].strip()


def plan_deed(name: str, arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a call that shows the user a plan; `None` if it does not."""
    named = "plan" in words_of(name)
    plan = first_text(arguments, ("plan",)) or (first_text(arguments, ("summary",)) if named else "")
    if not plan or not (named or len(plan) >= _PLAN):
        return None
    heading = next((line.strip("#* \t") for line in plan[:2_000].split("\n") if line.strip("#* \t-=")), "")
    outcome = NO_RESULT.outcome if framed is None else one_line(framed.text.split("\n", 1)[0], 150)
    return Deed("plan", one_line(heading, 120), outcome=outcome, text=bounded(plan))


def delegation_deed(name: str, arguments: Arguments, framed: Framed | None) -> Deed | None:
    """Return the deed of a call that gives a task to another agent; `None` if it does not."""
    words = set(words_of(name))
    order = first_text(
        arguments, ("prompt", "task", "instructions", "message", "input", "request", "query", "description")
    )
    described = first_text(arguments, ("description", "task_name", "subagent_type", "agent_type"))
    prompted = isinstance(arguments.get("prompt"), str) and not {"url", "urls", "command", "path"} & set(arguments)
    prompted = prompted and not words & {"image", "video", "audio", "speech", "completion"}
    agent = bool(words & _AGENTS) and (prompted or not reads_by_name(name))
    if not order or not (agent or (prompted and ("task" in words or len(order) > len(described) > 0))):
        return None
    what = one_line(described if described and described != order else order, _TASK)
    if framed is None:
        return Deed("delegated", what, outcome=NO_RESULT.outcome)
    if framed.running:
        key = "" if framed.running in ("launched", "running") else framed.running
        return Deed("delegated", what, outcome="running", key=key)
    ending = ending_of(framed)
    return Deed(
        "delegated",
        what,
        failed=ending.failed,
        outcome=ending.outcome if ending.failed else "",
        text=bounded(framed.text),
    )
