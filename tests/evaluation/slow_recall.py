"""Recall and reachable recall worked out slowly and plainly, from `compare.md`. Shares no code with the measure.

For OpenAI messages with plain texts. No tests live here.
"""

import json
import math
import re
import zlib
from collections.abc import Callable
from typing import Any

from backscroll.errors import BackscrollError

ENDINGS = (
    "py|pyi|ts|tsx|js|jsx|mjs|go|mod|sum|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|md|mdx|rst|txt|json|jsonl|yaml|yml|"
    "toml|ini|cfg|lock|sh|bash|zsh|sql|html|css|scss|xml|csv|tsv|pony|proto|tmpl|tpl|env|log|diff|patch|ipynb|pdf|png|"
    "svg|xlsx|docx"
)
WHOLE = ("url", "uuid", "email", "date")
PATTERNS = [
    ("url", r"https?://[^\s\"'<>)\]}`|\\]+", ()),
    ("email", r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", WHOLE),
    ("uuid", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", ()),
    ("date", r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?", WHOLE),
    ("path", r"(?:~|\.\.|\.)?/?(?:[\w.@+-]+/)+[\w.@+-]*\w", ("url",)),
    ("file", r"\b[\w-]+(?:\.[\w-]+)*\.(?:" + ENDINGS + r")\b", WHOLE),
    ("hex", r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b", WHOLE),
    ("id", r"\b(?=[A-Z0-9-]*[0-9])(?=[A-Z0-9-]*[A-Z])[A-Z0-9][A-Z0-9-]{3,}[A-Z0-9]\b", WHOLE),
    ("number", r"(?<![\w.])[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?(?!\w)"
     r"|(?<![\w.])[0-9]{4,}(?:\.[0-9]+)?(?!\w)|(?<![\w.])[0-9]+\.[0-9]{2,}(?![\w.])", WHOLE),
    ("name", r"\b[A-Za-z_$][A-Za-z0-9_]*\b", WHOLE),
]  # fmt: skip


def values(arguments: Any, name: str = "") -> Any:
    if isinstance(arguments, dict):
        return [pair for key, value in arguments.items() for pair in values(value, key)]
    if isinstance(arguments, list):
        return [pair for value in arguments for pair in values(value, name)]
    if arguments is None or isinstance(arguments, bool):
        return []
    return [(name, arguments if isinstance(arguments, str) else json.dumps(arguments))]


def calls(message: dict[str, Any]) -> Any:
    found = []
    for call in message.get("tool_calls") or ():
        text = call["function"]["arguments"]
        try:
            found.append((call["function"]["name"], text, values(json.loads(text))))
        except ValueError:
            found.append((call["function"]["name"], text, [("", text)]))
    return found


def readable_text(message: dict[str, Any]) -> str:
    lines = [message.get("content") or ""]
    for name, _, given in calls(message):
        lines += [name, *(value for _, value in given)]
    return "\n".join(lines)


def facts(message: dict[str, Any]) -> Any:
    given = [pair for _, _, pairs in calls(message) for pair in pairs]
    found = {}
    for name, value in given:
        if name in ("old_string", "old_str", "oldText", "old_text", "search", "old_content"):
            for line in value.split("\n"):
                if 20 <= len(line.strip()) <= 300 and re.search(r"[^\W_]", line):
                    found.setdefault(line.strip(), "line")
    text = "\n".join([message.get("content") or "", *(value for _, value in given)])
    for quote in re.findall(r'"([^"\n]{8,100})"|`([^`\n]{8,100})`', text):
        said = "".join(quote).strip()
        if len(said) >= 8 and " " in said:
            found.setdefault(said, "quote")
    spans = []
    for kind, pattern, outer in PATTERNS:
        for match in re.finditer(pattern, text):
            known = match[0].rstrip(".,:;") if kind in ("url", "path") else match[0]
            start, end = match.start(), match.start() + len(known)
            inside = any(low <= start and end <= high and other in outer for low, high, other in spans)
            if kind == "number":
                begins = any(low <= start < high and other in ("date", "hex", "id") for low, high, other in spans)
                inside = inside or begins
            if not inside and special(kind, known):
                spans.append((start, end, kind))
                found.setdefault(known, kind)
    chosen = list(found.items())
    return chosen if len(chosen) <= 60 else sorted(chosen, key=lambda one: zlib.crc32(one[0].encode()))[:60]


def special(kind: str, known: str) -> bool:
    common = ["README.md", "package.json", "/dev/null", "node_modules", "CLAUDE.md", "main.go", "index.ts", "stdout"]
    common += ["stderr"]
    steps = [step for step in known.split("/") if step]
    if known in common or len(known) > 200:
        return False
    if kind == "name":
        joined = "_" in known.strip("_") and re.search(r"[^\W\d_]", known)
        return len(known) >= 6 and bool(joined or re.search(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]", known))
    if kind == "path":
        rooted = known[0] in "/~." and len(steps) >= 2
        deep = len(steps) >= 3 or (len(steps) == 2 and "." in steps[1])
        return len(known) >= 6 and bool(re.search(r"[^\W\d_]", known)) and (rooted or deep)
    if kind == "number":
        return not re.fullmatch(r"(?:19|20)[0-9][0-9]|[10]\.0+|0+", known)
    return len(known) >= 5


def occurs(fact: Any, text: str) -> Any:
    known, kind = fact
    if kind in ("line", "quote"):
        return known in text
    edges = (r"(?<![\w.])", r"(?!\w)(?![.,][0-9])") if kind == "number" else (r"(?<!\w)", r"(?!\w)")
    return known in text and bool(re.search(edges[0] + re.escape(known) + edges[1], text))


def surroundings(known: str, text: str, most: int) -> Any:
    places = []
    at = text.rfind(known)
    while at >= 0 and len(places) < most:
        places.append(at)
        at = text.rfind(known, 0, at + len(known) - 1)
    return [
        set(re.findall(r"[a-z_]{3,}", (text[max(0, at - 60) : at] + " " + text[at + len(known) :][:60]).lower()))
        for at in places
    ]


def in_context(fact: Any, text: str, texts: list[str], last: int) -> Any:
    before = surroundings(fact[0], texts[last], 3)
    for at in range(last - 1, max(-1, last - 60), -1):
        if len(before) < 6:
            before += surroundings(fact[0], texts[at], 1)
    here = surroundings(fact[0], text, 8)
    return fact[1] == "line" or any(len(one & other) >= min(3, len(other)) for one in here for other in before)


def words(text: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Za-z_][\w./-]{3,}", text)}


def reference(view: list[dict[str, Any]], said: str, missing: Any) -> Any:
    for known, _ in missing:
        said = said.replace(known, " ")
    asked = {
        call["id"]: call["function"]["name"] + " " + call["function"]["arguments"]
        for message in view
        for call in message.get("tool_calls") or ()
    }
    named = []
    for message in view:
        text = message.get("content") or ""
        marks = re.findall(r"\[ref:([\w.-]+)\]", text)
        if len(marks) <= 3:
            naming = words(text[:4000] + " " + asked.get(message.get("tool_call_id"), ""))
            named += [(mark, naming & words(said)) for mark in marks]
        else:
            for line in text.split("\n"):
                named += [(mark, words(line) & words(said)) for mark in re.findall(r"\[ref:([\w.-]+)\]", line)]
    best = (0.0, None)
    for place, (mark, shared) in enumerate(named):
        if shared and mark not in [other for other, _ in named[:place]]:
            score = math.fsum(math.log(1 + len(named) / sum(word in other for _, other in named)) for word in shared)
            best = max(best, (score, mark), key=lambda one: (one[0], one[1] or ""))
    return best[1]


def recalls(messages: list[dict[str, Any]], manager: Any, budget: Any, weigh: Any, count: Callable[[str], int]) -> Any:
    """`facts, recall, reachable, far_facts, far_recall, far_reachable` of one replay with this manager."""
    texts = [readable_text(message) for message in messages]
    rules = [text for text, message in zip(texts, messages, strict=True) if message["role"] == "system"]
    tools = {name for message in messages for name, _, _ in calls(message)}
    every, far = [], []
    for at, message in enumerate(messages):
        if at and message["role"] == "assistant":
            view = manager.get_messages_for_request(token_budget=budget)
            needs = []
            for fact in facts(message) if sum(map(weigh, messages[:at])) > budget else ():
                places = [place for place in range(at) if occurs(fact, texts[place])]
                if places and fact[0] not in tools and not any(occurs(fact, rule) for rule in rules):
                    needs.append((fact, places[-1]))
            shown = "\n".join(map(readable_text, view))
            missing = [fact for fact, _ in needs if not occurs(fact, shown)]
            mark = reference(view, texts[at], missing) if missing else None
            try:
                answer = str(manager.recall(mark)) if mark else ""
            except BackscrollError:
                answer = ""
            if count(answer) > 4000:
                answer = answer[: len(answer) * 4000 // count(answer)]
            judged = [
                (
                    fact not in missing and in_context(fact, shown, texts, last),
                    fact not in missing or occurs(fact, answer),
                    sum(map(weigh, messages[last:at])) > budget,
                )
                for fact, last in needs
            ]
            every.append(judged)
            far.append([one for one in judged if one[2]])
        manager.append(message)
    return [figure for group in (every, far) for figure in summed([one for one in group if one])]


def summed(group: Any) -> Any:
    mean = [sum(sum(one[which] for one in judged) / len(judged) for judged in group) for which in (0, 1)]
    return [sum(map(len, group)), *(total / len(group) if group else None for total in mean)]
