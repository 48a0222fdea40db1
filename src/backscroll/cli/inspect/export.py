"""The page as one file: its scripts, its styles and all of its data, so that it needs neither server nor network.

A line that several requests share is told once; of each request it is told how many lines it begins with as the one
before on its lane did, and the rest.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from plotly.offline import get_plotlyjs

from backscroll.cli.inspect.data import Inspected, Told, line
from backscroll.cli.inspect.server import page_file
from backscroll.session.request_log import RequestSnapshot

__all__ = ["Inspected", "page"]

_SCRIPTS = ("charts.js", "request.js", "page.js")
_STYLE = '<link rel="stylesheet" href="page.css">'


def page(inspected: Inspected, names: Sequence[str], tick: Callable[[int], Any]) -> str:
    """The file, to be written in UTF-8; what messages hold is in ASCII."""
    data = {"title": inspected.title, "sessions": [_session(inspected.session(name), name, tick) for name in names]}
    html = page_file("page.html")
    scripts = [_inline(text) for text in (get_plotlyjs(), *map(page_file, _SCRIPTS))]
    style = page_file("page.css")
    for name in _SCRIPTS:
        mark = f'<script src="{name}" defer></script>\n'
        assert mark in html
        html = html.replace(mark, "")
    html = html.replace(_STYLE, f"{_policy(scripts)}\n<style>{style}</style>")
    told = f'<script type="application/json" id="data">{_harmless(json.dumps(data, separators=(",", ":")))}</script>'
    ending = "\n".join([told, *(f"<script>{script}</script>" for script in scripts)])
    before, mark, after = html.rpartition("</body>")
    return before + ending + mark + after


def _policy(scripts: Sequence[str]) -> str:
    """These scripts run and no others, and nothing is loaded from anywhere."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    told = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
    return f'<meta http-equiv="Content-Security-Policy" content="{told}; form-action \'none\'">'


def _inline(script: str) -> str:
    """A script that cannot end the element it stands in."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _harmless(told: str) -> str:
    """JSON that holds nothing that HTML could read as a tag."""
    return told.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _session(told: Told, name: str, tick: Callable[[int], Any]) -> dict[str, Any]:
    requests, pool, numbers = told.requests(0), list[Any](), dict[str, int]()
    before: dict[str, tuple[RequestSnapshot, list[int]]] = {}
    lines: list[list[int]] = []
    moved = []
    for at, lane, *_ in requests:
        sent = told.sent(at)
        now = [_number(line(each), pool, numbers) for each in sent.lines]
        earlier, then = before.get(lane, (None, []))
        same = 0
        while same < min(len(now), len(then)) and now[same] == then[same]:
            same += 1
        lines.append([same, *now[same:]])
        moved.append(told.moved(earlier, sent))
        before[lane] = sent, now
        tick(1)
    steps = told.steps(0, float("inf"))["steps"]
    return {
        "name": name, "requests": requests, "steps": steps, "pool": pool, "lines": lines, "moved": moved,
        "kept": list(told.kept()),
    }  # fmt: skip  # one thought


def _number(told: Any, pool: list[Any], numbers: dict[str, int]) -> int:
    key = json.dumps(told)
    if key not in numbers:
        numbers[key] = len(pool)
        pool.append(told)
    return numbers[key]
