"""The page as one file with its scripts, styles and data, so that it needs neither server nor network.

A line that several requests share is stored once. Each request stores how many first lines it shares with the previous
request on its lane, and the rest.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from plotly.offline import get_plotlyjs

from backscroll.cli.inspect.data import SessionInspector, StoreInspector, line
from backscroll.cli.inspect.server import page_file
from backscroll.session.request_log import RequestSnapshot

__all__ = ["StoreInspector", "page"]

_SCRIPTS = ("charts.js", "request.js", "page.js")
_STYLE = '<link rel="stylesheet" href="page.css">'


def page(inspected: StoreInspector, names: Sequence[str], tick: Callable[[int], Any]) -> str:
    """Return the file's text, to be written in UTF-8; the data is ASCII."""
    data = {"title": inspected.title, "sessions": [_session(inspected.session(name), name, tick) for name in names]}
    html = page_file("page.html")
    scripts = [_inline(text) for text in (get_plotlyjs(), *map(page_file, _SCRIPTS))]
    style = page_file("page.css")
    for name in _SCRIPTS:
        mark = f'<script src="{name}" defer></script>\n'
        assert mark in html
        html = html.replace(mark, "")
    html = html.replace(_STYLE, f"{_policy(scripts)}\n<style>{style}</style>")
    embedded = (
        f'<script type="application/json" id="data">{_harmless(json.dumps(data, separators=(",", ":")))}</script>'
    )
    ending = "\n".join([embedded, *(f"<script>{script}</script>" for script in scripts)])
    before, mark, after = html.rpartition("</body>")
    return before + ending + mark + after


def _policy(scripts: Sequence[str]) -> str:
    """Return a policy that allows only these scripts and loads nothing."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}; form-action \'none\'">'


def _inline(script: str) -> str:
    """Return a script that cannot end its own element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _harmless(data: str) -> str:
    """Return JSON without characters that HTML could read as a tag."""
    return data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _session(inspected: SessionInspector, name: str, tick: Callable[[int], Any]) -> dict[str, Any]:
    requests, pool, numbers = inspected.requests(0), list[Any](), dict[str, int]()
    before: dict[str, tuple[RequestSnapshot, list[int]]] = {}
    lines: list[list[int]] = []
    moved = []
    for at, lane, *_ in requests:
        sent = inspected.sent(at)
        now = [_number(line(each), pool, numbers) for each in sent.lines]
        earlier, then = before.get(lane, (None, []))
        same = 0
        while same < min(len(now), len(then)) and now[same] == then[same]:
            same += 1
        lines.append([same, *now[same:]])
        moved.append(inspected.moved(earlier, sent))
        before[lane] = sent, now
        tick(1)
    steps = inspected.steps(0, float("inf"))["steps"]
    return {
        "name": name, "requests": requests, "steps": steps, "pool": pool, "lines": lines, "moved": moved,
        "kept": list(inspected.kept()),
    }  # fmt: skip  # one key a line would hide the shape


def _number(value: Any, pool: list[Any], numbers: dict[str, int]) -> int:
    key = json.dumps(value)
    if key not in numbers:
        numbers[key] = len(pool)
        pool.append(value)
    return numbers[key]
