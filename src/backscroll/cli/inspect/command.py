"""The command `backscroll inspect`: serves the page, or writes it to a file."""

import gc
import json
import socket
import webbrowser
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.text import Text

from backscroll.cli import screen
from backscroll.cli.group import BadInput, app, parse_budget
from backscroll.cli.inspect.money import Money, read_prices
from backscroll.cli.stores import locate as places
from backscroll.errors import ConfigurationError
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import Weigher, budget_tokens, requests_of, steps
from backscroll.evaluation.transcript import Transcript
from backscroll.manager.importing import ImportingManager
from backscroll.ports import Store
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.engines import resolve


@app.command("inspect", short_help="Show in a browser what was sent, and why.")
@click.argument("place", metavar="STORE_OR_FILE")
@click.option(
    "--budget",
    default="128k",
    show_default=True,
    callback=parse_budget,
    metavar="TOKENS",
    help="Budget for replaying a transcript: 32000, 32k or 50%.",
)
@click.option("--model", metavar="NAME", help="Model of lanes that are not named after one, for what requests cost.")
@click.option("--prices", metavar="FILE", help="Dollars per million tokens: input, output, cache_read, cache_write.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Port; default: any free one.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
@click.option("--export", "target", metavar="FILE.html", help="Write the page as one file instead of serving it.")
@click.option("--session", "names", multiple=True, metavar="SESSION", help="Export only this session. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the address or the file's figures as JSON.")
def inspect_command(
    *,
    place: str,
    budget: int | float,
    model: str | None,
    prices: str | None,
    port: int,
    browser: bool,
    target: str | None,
    names: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what each request of a session contained, what it left out and why, and what changed since the one before.

    STORE_OR_FILE is a store, as an address or path, or a transcript, which is replayed in memory. The page is served on
    this machine only, under an address with a secret token, until you press Ctrl-C. Changes nothing.
    """
    server, export = _rooms()
    _collect_seldom()
    with places.blamed():
        money = Money(model, None if prices is None else read_prices(prices))
        inspected = export.StoreInspector(_store(place, budget), place, money)
        if target is not None:
            _write(export, inspected, target, names, as_json)
            return
        _serve(server, inspected, port, browser, as_json)


def _rooms() -> tuple[ModuleType, ModuleType]:
    try:
        from backscroll.cli.inspect import export, server  # noqa: PLC0415  needs an extra

        __import__("uvicorn")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("starlette", "uvicorn"):
            raise
        raise BadInput(f"the package {missing!r} is missing; run: pip install 'backscroll[inspect]'") from None
    return server, export


def _collect_seldom() -> None:
    """Run garbage collection rarely.

    Replaying a session creates many values and hardly any cycles; at Python's default interval, collection would take a
    third of the time.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def _store(place: str, budget: int | float) -> Store:
    """Return the named store, or one in memory with a replay of each conversation of a file."""
    found = places.store_or_file(place)
    if not isinstance(found, Path):
        return found
    store, transcripts = MemoryStore(), read(found)
    with places.progress("requests", sum(map(requests_of, transcripts))) as tick:
        for transcript in transcripts:
            _replay(transcript, store, budget, tick)
    return store


def _replay(transcript: Transcript, store: Store, budget: int | float, tick: Any) -> None:
    counter = resolve("auto")
    raw = sum(map(Weigher(counter.count), transcript.messages)) if isinstance(budget, float) else 0
    tokens = budget_tokens(budget, raw)
    with ImportingManager(store=store, session=transcript.name[-200:], budget=tokens) as context:
        refused = 0
        for step in steps(transcript, context, tokens):
            refused += step.view is None
            tick(1)
    if refused:
        note = (
            f"{screen.line(transcript.name)}: {refused:,} requests were refused: messages that must stay do not fit\n"
        )
        click.echo(note, err=True, nl=False)


def _write(export: Any, inspected: Any, target: str, names: tuple[str, ...], as_json: bool) -> None:
    known = [each["name"] for each in inspected.sessions()]
    missing = [name for name in names if name not in known]
    if missing:
        raise BadInput(f"no session {missing[0]!r} in this store; it has: {', '.join(map(repr, known[:10])) or 'none'}")
    with places.progress("requests", None) as tick:
        text = export.page(inspected, names or known, tick)
    try:
        with Path(target).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigurationError(f"{target} already exists: name a new file, or remove it") from None
    except OSError as error:
        raise BadInput(f"{target}: {error.strerror}: check that its folder exists and is writable") from error
    number, size = len(names or known), Path(target).stat().st_size
    if as_json:
        screen.write(json.dumps({"file": target, "sessions": number, "bytes": size}) + "\n")
        return
    many = "session" if number == 1 else "sessions"
    screen.show(Text(f"{screen.line(target)}: {number:,} {many}, {size:,} bytes"))


def _serve(server: Any, inspected: Any, port: int, browser: bool, as_json: bool) -> None:
    import uvicorn  # noqa: PLC0415  needs an extra

    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadInput(f"port {port}: {error.strerror}; pass another --port, or omit it") from error
        port, token = listening.getsockname()[1], server.new_token()
        address = f"http://127.0.0.1:{port}/{token}/"
        screen.write(json.dumps({"address": address}) + "\n" if as_json else f"{address}\nPress Ctrl+C to end.\n")
        if browser:
            webbrowser.open(address)
        config = uvicorn.Config(
            server.application(inspected, token, port), log_level="warning", access_log=False, server_header=False,
            lifespan="off", timeout_graceful_shutdown=1,  # an open page keeps its connection
        )  # fmt: skip  # one setting a line would hide the call
        uvicorn.Server(config).run(sockets=[listening])
