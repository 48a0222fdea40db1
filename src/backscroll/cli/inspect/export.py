"""The page as one file with its scripts, styles and data, so that it needs neither server nor network.

A message that several requests show is stored once, and so is a line. Each request stores how many first lines it
shares with the previous request on its lane, and the rest. All data is compressed; the page unpacks it.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from backscroll.cli.inspect.data import SessionInspector, StoreInspector, line, packed
from backscroll.cli.inspect.server import SCRIPTS, page_file
from backscroll.session.request_log import RequestSnapshot

__all__ = ["StoreInspector", "page"]

_STYLE = '<link rel="stylesheet" href="page.css">'


def page(inspected: StoreInspector, names: Sequence[str], tick: Callable[[int], Any]) -> str:
    """Return the file's text, to be written in UTF-8; the data is ASCII."""
    messages = _Pool()
    sessions = [_session(inspected.session(name), name, messages, tick) for name in names]
    rows = {row["name"]: row for row in inspected.overview(float("inf"))["sessions"]}
    data = {
        "title": inspected.title, "rows": [rows[name] for name in names], "sessions": sessions,
        "messages": messages.values,
    }  # fmt: skip  # one key a line would hide the shape
    html, style = page_file("page.html"), page_file("page.css")
    scripts = [_inline(page_file(name)) for name in SCRIPTS]
    for name in SCRIPTS:
        mark = f'<script src="{name}" defer></script>\n'
        assert mark in html
        html = html.replace(mark, "")
    html = html.replace(_STYLE, f"{_policy(scripts, style)}\n<style>{style}</style>")
    embedded = f'<script type="text/plain" id="data">{_compressed(data)}</script>'
    ending = "\n".join([embedded, *(f"<script>{script}</script>" for script in scripts)])
    before, mark, after = html.rpartition("</body>")
    return before + ending + mark + after


def _policy(scripts: Sequence[str], style: str) -> str:
    """Return a policy that allows only these scripts and this style, and loads nothing."""
    hashes = " ".join(map(_hash, scripts))
    policy = f"default-src 'none'; script-src {hashes}; style-src {_hash(style)}; img-src data:; base-uri 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _inline(script: str) -> str:
    """Return a script that cannot end its own element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _compressed(data: Any) -> str:
    """Return JSON, compressed, in characters that HTML cannot read as a tag."""
    return b64encode(gzip.compress(packed(data), 9, mtime=0)).decode("ascii")


class _Pool:
    """Values, each once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._numbers: dict[str, int] = {}

    def number(self, value: Any) -> int:
        """Return the number of a value in the pool."""
        key = json.dumps(value)
        if key not in self._numbers:
            self._numbers[key] = len(self.values)
            self.values.append(value)
        return self._numbers[key]


def _session(inspected: SessionInspector, name: str, messages: _Pool, tick: Callable[[int], Any]) -> dict[str, Any]:
    requests, pool = inspected.requests(0), _Pool()
    before: dict[str, tuple[RequestSnapshot, list[int]]] = {}
    lines: list[list[int]] = []
    moved = []
    for at, lane, *_ in requests:
        sent = inspected.sent(at)
        now = [pool.number(_shared(line(each), messages)) for each in sent.lines]
        earlier, then = before.get(lane, (None, []))
        same = 0
        while same < min(len(now), len(then)) and now[same] == then[same]:
            same += 1
        lines.append([same, *now[same:]])
        moved.append(inspected.moved(earlier, sent))
        before[lane] = sent, now
        tick(1)
    kept = [
        [seq, role, tokens, ref, messages.number(message), parts]
        for seq, role, tokens, ref, message, parts in inspected.kept()
    ]
    return {
        "name": name, "requests": requests, "steps": inspected.steps(0, float("inf")), "pool": pool.values,
        "lines": lines, "moved": moved, "kept": kept,
    }  # fmt: skip  # one key a line would hide the shape


def _shared(values: list[Any], messages: _Pool) -> list[Any]:
    """Return a line with the number of its message in place of it."""
    *rest, message = values
    return [*rest, None if message is None else messages.number(message)]
