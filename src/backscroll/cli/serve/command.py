"""The command `backscroll serve`: a proxy on this machine between agents and their providers."""

import os
import socket
import warnings
from contextlib import suppress
from dataclasses import replace
from shutil import get_terminal_size
from types import ModuleType
from typing import Any

import click

from backscroll.cli import screen
from backscroll.cli.group import BadInput, app, parse_budget
from backscroll.cli.redaction.options import redact_options
from backscroll.cli.redaction.redaction import Redaction
from backscroll.cli.serve.advice import advise
from backscroll.cli.serve.request_log import RequestLog
from backscroll.cli.stores import locate as places
from backscroll.errors import ConfigurationError
from backscroll.notices import BackscrollWarning

LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "BACKSCROLL_SERVE_TOKEN"  # noqa: S105  the name of a variable


def _tokens(ctx: click.Context | None, param: click.Parameter | None, value: str | None) -> int | None:
    if value is None:
        return None
    found = parse_budget(ctx, param, value)
    if isinstance(found, float):
        raise click.BadParameter(f"{value!r} is a share; write tokens as 150000 or 150k", ctx, param)
    return found


@app.command("serve", short_help="Run a proxy that keeps agents' requests within the window.")
@click.option("--store", "place", metavar="STORE", help="Store conversations here. Default: in memory only.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8788, show_default=True, help="0: any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help=f"Listen here. Others than this machine need a token in {TOKEN}.")  # fmt: skip
@click.option("--anthropic-upstream", "anthropic", default="https://api.anthropic.com", show_default=True,
              metavar="URL", help="Where requests of Anthropic's API go.")  # fmt: skip
@click.option("--openai-upstream", "openai", default="https://api.openai.com", show_default=True, metavar="URL",
              help="Where requests of OpenAI's API go.")  # fmt: skip
@click.option("--allow-path", "allow_paths", multiple=True, metavar="PATH",
              help="Let a path go to OpenAI's address: /v1/rerank, or /x/* for all below. Repeatable.")  # fmt: skip
@click.option("--budget", callback=_tokens, metavar="TOKENS",
              help="Input tokens of a request: 150000 or 150k. Default: by the client and the model.")  # fmt: skip
@click.option("--store-timeout", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True,
              metavar="SECONDS", help="Go on in memory if the store takes longer than this.")  # fmt: skip
@redact_options("stored and written in views")
@click.option("--recall", is_flag=True,
              help="Give new conversations a tool that reads what views leave out, and answer it here.")  # fmt: skip
@click.option("--shadow", is_flag=True, help="Send each request as it came, and print what would have been sent.")
@click.option(
    "--strict", is_flag=True, help="Refuse a request of which no view can be made. Default: send it as it came."
)
def serve_command(
    *,
    place: str | None,
    port: int,
    host: str,
    anthropic: str,
    openai: str,
    allow_paths: tuple[str, ...],
    budget: int | None,
    store_timeout: float,
    kinds: list[str],
    patterns: tuple[str, ...],
    recall: bool,
    shadow: bool,
    strict: bool,
) -> None:
    """Run between agents and their providers, and send views where conversations grow too long.

    Speaks Anthropic's Messages API, OpenAI's chat completions and its Responses API. What needs no view goes on byte
    for byte. Keys pass through, each to its own provider, and are never stored. Ends with Ctrl+C, SIGTERM or SIGHUP.
    """
    proxy = _room()
    token = os.environ.get(TOKEN) or None
    if host not in LOOPBACK and token is None:
        raise BadInput(f"--host {host} is open to others: set {TOKEN} to a secret of 16 or more letters and digits")
    with places.blamed():
        store = None if place is None else places.writable(os.path.expanduser(place))
        try:
            options = {"redact": Redaction(kinds, patterns).message} if kinds or patterns else {}
            settings = proxy.ProxySettings(
                store=store, budget=budget, anthropic=anthropic, openai=openai, shadow=shadow,
                strict=strict, token=token,
                store_timeout=store_timeout, allow_paths=allow_paths, recall=recall, options=options,
            )  # fmt: skip  # one thought
            _serve(proxy, settings, _listening(host, port), host, place)
        finally:
            if store is not None:
                store.close()


def _room() -> ModuleType:
    try:
        import backscroll.integrations.proxy as package  # noqa: PLC0415  needs an extra

        __import__("uvicorn")
    except (ConfigurationError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name != "uvicorn":
            raise
        raise BadInput("the proxy is not installed: pip install 'backscroll[serve]'") from None
    return package


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise BadInput(f"{host}:{port}: {error.strerror or error}; pass another --port, or 0 for a free one") from error
    return found


def _serve(proxy: ModuleType, settings: Any, listening: socket.socket, host: str, place: str | None) -> None:
    import uvicorn  # noqa: PLC0415  needs an extra

    from backscroll.cli.serve.server import Server, ended_by_signals  # noqa: PLC0415  needs it too

    log, totals = RequestLog(screen.write, get_terminal_size((100, 24)).columns), proxy.Totals()
    warnings.filterwarnings("ignore", "the provider refused a request of lane", BackscrollWarning)  # the log says it
    warnings.showwarning = lambda message, *_: log.note(str(message))
    settings = replace(settings, options={**settings.options, "on_event": advise(log.note)})
    port = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    prefix = "" if settings.token is None else "/$" + TOKEN
    greeting = _greeting(f"http://{shown}:{port}{prefix}", place, settings)
    config = uvicorn.Config(
        proxy.make_app(settings, log=log.add, totals=totals), log_level="critical", access_log=False,
        server_header=False, date_header=False, ws="none", lifespan="on", timeout_keep_alive=75,
        timeout_graceful_shutdown=5, http=proxy.http_protocol(),
    )  # fmt: skip  # one setting a line would hide the call
    with listening, suppress(KeyboardInterrupt), ended_by_signals():
        Server(config, lambda: screen.write(greeting)).run(sockets=[listening])
    log.sum_up(totals)


def _greeting(address: str, place: str | None, settings: Any) -> str:
    kept = "in memory only; to keep them, pass --store" if place is None else f"in {screen.line(place)}"
    lines = [
        f"Backscroll at {address}",
        f"Conversations are kept {kept}.",
        *(["Shadow: every request goes on as it came."] if settings.shadow else []),
        "",
        "Claude Code:",
        f"  export ANTHROPIC_BASE_URL={address}",
        "  export ENABLE_TOOL_SEARCH=true CLAUDE_CODE_ATTRIBUTION_HEADER=0",
        "Programs that use OpenAI's API:",
        f"  export OPENAI_BASE_URL={address}/v1",
        "Codex, in ~/.codex/config.toml:",
        '  model_provider = "backscroll"',
        "  [model_providers.backscroll]",
        '  name = "Backscroll"',
        f'  base_url = "{address}/v1"',
        '  wire_api = "responses"',
        '  env_key = "OPENAI_API_KEY"',
        "  supports_websockets = false",
        "",
        "Press Ctrl+C to end.",
        "",
    ]
    return "\n".join(lines) + "\n"
