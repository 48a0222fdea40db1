"""The commands for stored sessions: options, tables, messages and exit codes.

Exit codes: 0 success; 1 corrupt data was read; 2 the request cannot be carried out.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import click
from rich.text import Text

from backscroll.cli import screen
from backscroll.cli.group import BadInput, app, json_option
from backscroll.cli.stores import context_bar as anatomy
from backscroll.cli.stores import locate as places
from backscroll.cli.stores import render as showing
from backscroll.cli.stores import transfer as moving
from backscroll.cli.stores.render import Reader
from backscroll.notices import BackscrollWarning
from backscroll.ports import Store
from backscroll.stores.addresses import shown
from backscroll.stores.problems import Problem
from backscroll.stores.search import search_everywhere

_store = click.argument("place", metavar="STORE")
_session = click.argument("session", metavar="SESSION")
_as = click.option("--as", "name", metavar="NAME", help="Name of the one session in the target.")

_lane = click.option("--lane", metavar="NAME", help="Use this lane. Default: main, or the one that was used instead.")


def _print(found: Any) -> None:
    screen.write(json.dumps(found, indent=2) + "\n")


@app.command("sessions", short_help="List sessions.")
@_store
@click.option("--all", "every", is_flag=True, help="List single requests as well.")
@json_option
def sessions_command(*, place: str, every: bool, as_json: bool) -> None:
    """List the sessions of STORE, oldest first.

    A single request that `backscroll serve` stored, without tools and without an answer, is not listed: clients ask so
    for the title of a conversation.

    STORE is an address such as sqlite:///agent.db or jsonl:///folder, or the path of a database file or folder.
    """
    store = places.existing(place)
    with places.blamed():
        names = store.sessions()
        with places.progress("sessions", len(names)) as tick:
            rows = []
            for name in names:
                if every or not showing.is_single(store, name):
                    rows.append(showing.session_row(store, name))
                tick(1)
    if as_json:
        _print({"sessions": rows})
        return
    screen.show(showing.sessions_table(rows) if rows else Text("no sessions"))
    if left := len(names) - len(rows):
        screen.show(Text(f"single requests that are not listed: {left:,} (--all lists them)"))


@app.command("show", short_help="Print the messages of a session.")
@_store
@_session
@click.option("--from", "first", type=click.IntRange(min=0), default=0, metavar="SEQ", help="First message to print.")
@click.option("--to", "last", type=click.IntRange(min=0), metavar="SEQ", help="Last message to print.")
@click.option("--plan", is_flag=True, help="Print the state of each message in the newest view, and why.")
@_lane
@json_option
def show_command(
    *, place: str, session: str, first: int, last: int | None, plan: bool, lane: str | None, as_json: bool
) -> None:
    """Print the messages of SESSION as they were added, each under its reference.

    Shows only the current branch, without what a rewind or clear removed.
    """
    store = places.existing(place)
    places.known(store, session)
    with places.blamed():
        reader = Reader(store, session)
        every = reader.explain(reader.chosen_lane(lane))
        chosen = [each for each in every if each.seq >= first and (last is None or each.seq <= last)]
        if plan or as_json:
            _show_plan(reader, chosen, session, plan, as_json)
            return
        for page in reader.pages(chosen):
            screen.show(*(showing.entry(*each) for each in page))
    screen.show(_summary(len(chosen), len(every), session))


@app.command("status", short_help="Show what fills a session's window.")
@_store
@click.argument("session", metavar="[SESSION]", required=False)
@_lane
@json_option
def status_command(*, place: str, session: str | None, lane: str | None, as_json: bool) -> None:
    """Show what the newest request of SESSION consists of, its largest messages, and what the next compaction would do.

    Without SESSION, show the newest session. Changes nothing.
    """
    store = places.existing(place)
    with places.blamed():
        names = store.sessions() if session is None else [session]
        if not names:
            raise BadInput("this store has no session")
        newest = (name for name in reversed(names) if session is not None or not showing.is_single(store, name))
        chosen = next(newest, names[-1])
    places.known(store, chosen)
    with places.blamed():
        # "auto" counts like the session's agent, also the digest
        reader = Reader(store, chosen, "auto")
        status = reader.window_report(reader.chosen_lane(lane))
    if as_json:
        _print({"session": chosen, **anatomy.as_json(status)})
    else:
        screen.show(*anatomy.shown(status, chosen))


def _show_plan(reader: Reader, chosen: Sequence[Any], session: str, plan: bool, as_json: bool) -> None:
    if not as_json:
        screen.show(showing.plan_table(chosen), _summary(len(chosen), len(chosen), session))
    elif plan:
        _print({"session": session, "messages": [showing.explained_json(each) for each in chosen]})
    else:
        pages = [each for page in reader.pages(chosen) for each in page]
        _print(
            {"session": session, "messages": [showing.explained_json(each) | {"message": got} for each, got in pages]}
        )


def _summary(shown: int, every: int, session: str) -> Text:
    part = f"{shown:,} of {every:,}" if shown != every else f"{every:,}"
    return Text(f"{screen.line(session)}: {part} {'message' if every == 1 else 'messages'}", style="bold")


@app.command("search", short_help="Search all messages ever added.")
@_store
@click.argument("query", metavar="QUERY")
@click.option("--session", "sessions", multiple=True, metavar="NAME", help="Search only this session. Repeatable.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum number of passages.")
@json_option
@click.pass_context
def search_command(
    ctx: click.Context, *, place: str, query: str, sessions: tuple[str, ...], limit: int, as_json: bool
) -> None:
    """Search all messages ever added to the sessions of STORE for the words of QUERY; print the best passages first.

    Exit code: 1 if a session cannot be read; the others are searched.
    """
    store = places.existing(place)
    for session in sessions:
        places.known(store, session)
    with places.blamed(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", BackscrollWarning)
        names = list(sessions) or store.sessions()
        with places.progress("indexing and searching", len(names)) as tick:
            found = search_everywhere(store, query, limit, names, tick)
    for each in heard:
        click.echo(f"backscroll: {screen.line(str(each.message))}", err=True)
    if as_json:
        _print({"query": query, "hits": [hit._replace(session=name)._asdict() for name, hit in found]})
    elif found:
        screen.show(*(showing.hit(hit, None if len(sessions) == 1 else name) for name, hit in found))
    else:
        screen.show(Text("nothing found"))
    ctx.exit(1 if heard else 0)


# -- export and import --


@app.command("export", short_help="Copy sessions to another store or to a file.")
@_store
@click.argument("target", metavar="TARGET")
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@_as
@json_option
def export_command(*, place: str, target: str, sessions: tuple[str, ...], name: str | None, as_json: bool) -> None:
    """Copy all sessions of STORE, or those named, to TARGET: another store, or a new file; - is standard output.

    Records are copied unchanged; with the key of an encrypted STORE in the environment, TARGET gets them decrypted. A
    file is JSON Lines, and `backscroll import` reads it back.
    """
    if target == "-" and as_json:
        raise BadInput("--json and a TARGET of - both write to standard output: use only one")
    store = places.existing(place)
    with places.blamed():
        names = moving.chosen(store, sessions, name)
        if places.is_store(target):
            done = moving.copied(store, places.any_store(target), names)
        else:
            with moving.new_file(target) as file:
                done = moving.copied(store, file, names)
    if target != "-":
        _show_moved(done, target, as_json)


@app.command("import", short_help="Import an exported file or a transcript.")
@click.argument("source", metavar="SOURCE")
@_store
@click.argument("sessions", nargs=-1, metavar="[SESSION]...")
@_as
@json_option
def import_command(*, source: str, place: str, sessions: tuple[str, ...], name: str | None, as_json: bool) -> None:
    """Import SOURCE into STORE: an exported file, another store, or another program's recording.

    Reads transcripts of Amplifier, Claude Code, Codex, OpenAI chat, SWE-agent and tau-bench. Their messages become a
    new session, named after the file unless --as names it. A SOURCE of - is standard input.
    """
    with places.blamed(), moving.source_of(source) as found:
        store = places.writable(place)
        if not isinstance(found, list):
            done = moving.copied(found, store, moving.chosen(found, sessions, name))
        elif sessions:
            raise BadInput(f"{source}: a transcript has no sessions to choose from: omit SESSION")
        else:
            done = moving.added(found, store, source, name)
    _show_moved(done, place, as_json)


def _show_moved(done: Sequence[dict[str, Any]], target: str, as_json: bool) -> None:
    if as_json:
        _print({"to": shown(target), "sessions": done})
        return
    lines = []
    for each in done:
        number = _number(each["records"], "record") if "records" in each else _number(each["messages"], "message")
        name = each["as"] if each["as"] == each["session"] else f"{each['session']} as {each['as']}"
        lines.append(Text(f"{screen.line(name)}: {number}"))
        reasons = ", ".join(f"{count} x {reason}" for reason, count in each.get("left_out", {}).items())
        lines += [Text(f"  left out: {screen.line(reasons)}", style="dim")] if reasons else []
    screen.show(*lines, Text(f"{_number(len(done), 'session')} to {screen.line(shown(target))}", style="bold"))


# -- maintenance --


@app.command("verify", short_help="Check a store for corruption.")
@_store
@json_option
@click.pass_context
def verify_command(ctx: click.Context, *, place: str, as_json: bool) -> None:
    """Read everything in STORE and report corruption. Changes nothing.

    Exit code: 0 if nothing is missing, 1 if something is.
    """
    store = places.existing(place)
    found = _problems(store, "verify", "reading everything", "each record is checked when it is read")
    damage = [problem for problem in found if not problem.harmless]
    _report(found, as_json, _number(len(damage), "problem") if damage else "nothing is missing")
    ctx.exit(1 if damage else 0)


@app.command("repair", short_help="Repair a corrupt store.")
@_store
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def repair_command(*, place: str, yes: bool, as_json: bool) -> None:
    """Repair STORE as far as possible, so that the rest can be used, and print what was done."""
    store = places.existing(place, read_only=False)
    _ask(f"Repair {shown(place)}? Corrupt data is then lost", yes)
    found = _problems(store, "repair", "repairing", "restore it from a backup")
    _report(found, as_json, "repaired" if found else "nothing to repair")


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _ask(question: str, yes: bool) -> None:
    """Continue only if the user agrees."""
    if not yes and not sys.stdin.isatty():
        raise BadInput("confirmation needed but stdin is not a terminal; pass --yes")
    if not yes:
        click.confirm(screen.line(question), abort=True, err=True)


def _problems(store: Store, what: str, doing: str, instead: str) -> list[Problem]:
    """Return the problems that a store's method reports; not every store has the method."""
    method = getattr(store, what, None)
    if method is None:
        raise BadInput(f"a {type(store).__name__} cannot {what}: {instead}")
    with places.blamed(), places.progress(doing, None):
        return [Problem(each.session, each.at, each.what, getattr(each, "harmless", False)) for each in method()]


def _report(found: Sequence[Problem], as_json: bool, summary: str) -> None:
    if as_json:
        _print({"problems": [problem._asdict() for problem in found]})
        return
    shown = []
    for session, at, what, harmless in found:
        where = "" if session is None else f"{session}: " if at is None else f"{session}, place {at}: "
        shown.append(Text(screen.line(f"{where}{what}"), style="dim" if harmless else "red"))
    screen.show(*shown, Text(summary, style="bold"))


@app.command("delete", short_help="Delete a session.")
@_store
@_session
@click.option("--cascade", is_flag=True, help="Delete the sessions that were forked from it as well.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
def delete_command(*, place: str, session: str, cascade: bool, yes: bool, as_json: bool) -> None:
    """Delete SESSION and all its data from every file of STORE. This cannot be undone.

    Refused while forks share its past, unless --cascade is given.
    """
    store = places.existing(place, read_only=False)
    places.known(store, session)
    _ask(f"Delete {session}{' and its forks' if cascade else ''} from {shown(place)}?", yes)
    with places.blamed(), places.progress("deleting", None):
        before = store.sessions()
        store.delete(session, cascade)
        gone = [name for name in before if name not in set(store.sessions())]
    if as_json:
        _print({"deleted": gone})
    else:
        screen.show(*(Text(f"deleted: {screen.line(name)}") for name in gone))


@app.command("fork", short_help="Start a session with the past of another.")
@_store
@_session
@click.argument("new", metavar="NEW")
@click.option(
    "--at", type=click.IntRange(min=0), metavar="SEQ", help="Last message that both share; default: all messages."
)
@json_option
def fork_command(*, place: str, session: str, new: str, at: int | None, as_json: bool) -> None:
    """Start the session NEW with the past of SESSION, up to a message or all of it. Nothing is copied."""
    store = places.existing(place, read_only=False)
    places.known(store, session)
    with places.blamed():
        Reader(store, session).fork(new, at)
        shared = store.length(new)
    if as_json:
        _print({"session": new, "from": session, "at": at, "records": shared})
    else:
        screen.show(Text(f"{screen.line(new)}: shares {shared:,} records with {screen.line(session)}"))
