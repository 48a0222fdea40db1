"""The command `backscroll mcp`: a server over stored sessions, on standard input and output."""

import asyncio
import os
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import click

from backscroll.cli.group import BadInput, app, parse_names
from backscroll.cli.redaction.options import redact_options
from backscroll.cli.stores import locate as places
from backscroll.errors import ConfigurationError

CLIENTS = ("claude-code", "codex")


def _existing(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> list[str]:
    folders = [os.path.expanduser(value) for value in values]
    missing = next((folder for folder in folders if not os.path.isdir(folder)), None)
    if missing is not None:
        raise click.BadParameter(f"{missing}: no such folder", ctx, param)
    return folders


@app.command("mcp", short_help="Serve stored sessions to clients of the Model Context Protocol.")
@click.argument("place", metavar="STORE")
@click.option("--import", "clients", default="", callback=parse_names("a client", CLIENTS), metavar="CLIENTS",
              help="Import the logs of claude-code, codex or both, separated by commas.")  # fmt: skip
@click.option("--folder", "folders", multiple=True, callback=_existing, metavar="PATH",
              help="Import logs below this folder. Repeatable.")  # fmt: skip
@redact_options("imported")
@click.option("--project", metavar="PATH", help="Show sessions of this folder; default: the working folder.")
@click.option("--all", "everything", is_flag=True, help="Show the sessions of all folders.")
@click.option("--page-tokens", type=click.IntRange(min=1_000), default=4_000, show_default=True, metavar="N",
              help="Maximum tokens of an answer.")  # fmt: skip
@click.option("--exclude-current/--include-current", default=True, show_default=True,
              help="Leave the running session out of searches: the newest log of the folder.")  # fmt: skip
def mcp_command(
    *,
    place: str,
    clients: list[str],
    folders: list[str],
    kinds: list[str],
    patterns: tuple[str, ...],
    project: str | None,
    everything: bool,
    page_tokens: int,
    exclude_current: bool,
) -> None:
    """Serve the sessions of STORE on standard input and output, for Claude Code, Codex, Cursor and others.

    Shows sessions of the working folder and those that name no folder. Only an import writes to STORE, and nothing
    writes to the folders of a client.
    """
    if project is not None and everything:
        raise BadInput("--project and --all exclude each other: use only one")
    if (kinds or patterns) and not (clients or folders):
        raise BadInput("--redact and --redact-pattern redact what is imported: use them with --import or --folder")
    package, log_import = _rooms()
    place = os.path.expanduser(place)
    folder = os.path.abspath(os.path.expanduser(project or os.curdir))
    redaction = log_import.Redaction(kinds, patterns)
    with places.blamed():
        store = places.writable(place) if clients or folders else places.existing(place)
        archive = package.Archive(
            store,
            folder=None if everything else folder,
            running_in=folder if exclude_current else None,
            feed=_feed(log_import, store, clients, folders, redaction) if clients or folders else None,
            redaction=redaction.marks,
        )
        try:
            asyncio.run(_serve(package.make_server(archive, page_tokens)))
        finally:
            store.close()


def _rooms() -> tuple[ModuleType, ModuleType]:
    try:
        import backscroll.integrations.mcp as package  # noqa: PLC0415  needs an extra
        from backscroll.cli.mcp import log_import  # noqa: PLC0415  needs the same
    except ConfigurationError as error:
        raise BadInput(str(error)) from None
    return package, log_import


def _feed(log_import: Any, store: Any, clients: list[str], folders: list[str], redaction: Any) -> Any:
    from backscroll.cli.mcp.log_files import homes, log_files  # noqa: PLC0415  only an import needs them

    searched = [*homes(clients, os.environ), *(("", folder) for folder in folders)]
    return log_import.LogImport(store, lambda: log_files(searched), redaction)


async def _serve(server: Any) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  needs an extra

    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
