"""The command `backscroll demo`: each step with its line, the folder it writes to, and exit codes.

Exit codes: 0 nothing was lost and every view was valid; 1 not so; 2 a folder or option that cannot be used.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.text import Text

import backscroll
from backscroll.cli import screen
from backscroll.cli.demo import crash
from backscroll.cli.demo.agent import BUDGET, SESSION
from backscroll.cli.demo.crash import DemoFailure, Place
from backscroll.cli.demo.tools import Tools
from backscroll.cli.group import BadInput, app, json_option
from backscroll.evaluation.readers import read
from backscroll.evaluation.run import Outcome, replay
from backscroll.stores.sqlite import SqliteStore

_WIDTH = 80  # columns, also on wider terminals: it is prose
_LABEL = 10
_NOTE = "backscroll-demo.txt"
"""The file that marks a folder as one of the demo, whose other files it may replace."""
_SMALLEST = 400  # bytes of a Python file that the agent has questions about


class _Steps:
    """Prints what each step does, as it happens, unless JSON is printed at the end."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.number = 0

    def begin(self, name: str, text: str) -> None:
        """Print a step's name and text."""
        self.number += 1
        self._print(f"{self.number} {name}", text)

    def say(self, text: str) -> None:
        """Print more of the same step."""
        self._print("", text)

    def _print(self, label: str, text: str) -> None:
        if self.silent:
            return
        lines = textwrap.wrap(text, _WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False)
        indented = f"\n{' ' * _LABEL}".join(map(screen.line, lines))
        screen.show(Text.assemble((label.ljust(_LABEL), "bold"), indented))


@app.command("demo", short_help="Kill an agent in the middle of its session, and resume it.")
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--root",
    metavar="TREE",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The source tree that the agent reads. Default: the installed package.",
)
@json_option
@click.pass_context
def demo_command(ctx: click.Context, /, *, folder: Path | None, root: Path | None, as_json: bool) -> None:
    """Kill an agent in the middle of its session, resume it, finish it, and replay it at a budget of 16k tokens.

    The agent is a script with real tools: it lists, reads and searches TREE, and runs Python on it. It needs no model,
    no network and no key, and writes to FOLDER only: a new or empty folder, or one of an earlier demo. Without FOLDER,
    the demo makes a temporary one, which stays. It takes some ten seconds.

    Exit code: 0 if nothing was lost and every view was valid; 1 if not; 2 for a folder that cannot be used.
    """
    tree = (root or Path(backscroll.__file__).parent).resolve()
    tools = Tools(tree)
    if not any((tree / name).stat().st_size > _SMALLEST for name in tools.files(".py")):
        raise BadInput(f"--root {tree}: no Python file of more than {_SMALLEST} bytes in this tree; name another one")
    place = _prepared(folder, tree)
    steps = _Steps(silent=as_json)
    try:
        found = _run(place, len(tools.files()), steps)
    except DemoFailure as error:
        click.echo(f"backscroll: the demo failed: {screen.line(str(error))}; see {place.database.parent}", err=True)
        ctx.exit(1)
    if as_json:
        screen.write(json.dumps(found, indent=2) + "\n")
    else:
        screen.show(Text(), *_next(place))
    ctx.exit(1 if found["problems"] or found["replay"]["invalid"] or found["replay"]["over_budget"] else 0)


def _prepared(folder: Path | None, tree: Path) -> Place:
    """Return the places of the demo's files, with none of an earlier demo left there."""
    made = Path(tempfile.mkdtemp(prefix="backscroll-demo-")) if folder is None else folder.absolute()
    try:
        made.mkdir(parents=True, exist_ok=True)
        if any(made.iterdir()) and not (made / _NOTE).exists():
            raise BadInput(f"FOLDER {made}: this folder holds other files; pass a new one, or none")
        (made / _NOTE).write_text("Made by `backscroll demo`, which replaces session.* here when it runs again.\n")
        for old in made.glob("session.*"):
            old.unlink()
    except OSError as error:
        raise BadInput(f"FOLDER {made}: cannot write there: {error.strerror or error}") from error
    return Place(tree, made / "session.db", made / "session.jsonl")


def _run(place: Place, files: int, steps: _Steps) -> dict[str, Any]:
    """Run every step, and return what was found."""
    steps.begin(
        "run",
        f"An agent reads, searches and runs Python over {files} files. It is a process of its own, has real tools and "
        "no model, and stores each message in SQLite before it goes on.",
    )
    killed = _kill_and_resume(place, steps)
    left = crash.kill_in_turn(place)
    steps.begin(
        "turn",
        f"Killed between an answer and its results: {_counted(left.tools)} open ({', '.join(left.tools)}). A "
        f'provider refuses the history as it is ("{left.refusal[:90]}..."), and takes the view.',
    )
    size = crash.finish(place)
    steps.begin("finish", f"Another process ran the open calls, and continued to the end: {size}.")
    problems = [problem.what for problem in SqliteStore(str(place.database)).verify() if not problem.harmless]
    steps.begin("verify", f"Every record was read back and checked: {'; '.join(problems) or 'nothing is missing'}.")
    outcome = _replayed(place)
    steps.begin("replay", _summary(outcome))
    places = {"tree": str(place.root), "store": str(place.database), "transcript": str(place.transcript)}
    killed["in_turn"] = left._asdict()
    return {**places, "session": SESSION, **killed, "finished": size, "problems": problems, "replay": _figures(outcome)}


def _counted(calls: list[str]) -> str:
    return "1 call is" if len(calls) == 1 else f"{len(calls)} calls are"


def _kill_and_resume(place: Place, steps: _Steps) -> dict[str, Any]:
    reported = crash.kill_midway(place, crash.HALF)
    steps.begin("kill", f"{reported.ended_by}, after it had reported {reported.messages} stored messages.")
    while (resumed := crash.resume(place, reported)) is None:
        steps.say("It had stored one more step than it could report, so it continues and is killed once more:")
        reported = crash.kill_midway(place, reported.messages + 10)
        steps.say(f"{reported.ended_by}, after {reported.messages} messages.")
    steps.begin("resume", f"All {resumed.messages} messages are there. The next view is the same, byte for byte:")
    view = f"{resumed.view_messages} messages, {resumed.view_tokens:,} tokens"
    steps.say(f"{view}, sha256 {reported.view[:16]}...")
    return {
        "killed": {"by": reported.ended_by, "messages": reported.messages},
        "resumed": {**resumed._asdict(), "view_sha256": reported.view},
    }


def _replayed(place: Place) -> Outcome:
    (transcript,) = read(place.transcript)
    return replay(transcript, budget=BUDGET)


def _figures(outcome: Outcome) -> dict[str, Any]:
    names = ("budget", "requests", "compactions", "invalid", "over_budget", "prefix_kept", "cost", "cost_whole")
    return {name: getattr(outcome, name) for name in names}


def _summary(outcome: Outcome) -> str:
    return (
        f"The same session once more, in memory: {outcome.requests} requests of at most {outcome.budget:,} tokens, "
        f"{outcome.invalid} of them invalid, {outcome.over_budget} over the budget. {outcome.compactions} compactions "
        f"kept {outcome.prefix_kept or 0:.0%} of the prefix for the provider's cache. The requests cost what "
        f"{outcome.cost:.2f} million input tokens do; the whole history each time would cost {outcome.cost_whole:.2f}."
    )


def _next(place: Place) -> list[Text]:
    """Return where the files are, and commands to try, each on one line to copy."""
    command, store, transcript = _command(), _quoted(place.database), _quoted(place.transcript)
    lacking = any(find_spec(name) is None for name in ("starlette", "uvicorn"))
    commands = (
        f"{command} sessions {store}",
        f"{command} show {store} {SESSION} --plan",
        f'{command} search {store} "longest function"',
        *(["# after: pip install 'backscroll[inspect]'"] if lacking else []),
        f"{command} inspect {store}",
        f"{command} replay {transcript} --budget 8k",
    )
    return [
        Text.assemble(("store".ljust(_LABEL), "bold"), str(place.database)),
        Text.assemble(("session".ljust(_LABEL), "bold"), SESSION),
        Text.assemble(("messages".ljust(_LABEL), "bold"), str(place.transcript)),
        Text(),
        Text("Try next:", style="bold"),
        *(Text(f"  {each}") for each in commands),
    ]


def _command() -> str:
    """Return how this shell starts `backscroll`, whose environment need not be active."""
    if shutil.which("backscroll"):
        return "backscroll"
    return f"{_quoted(Path(sys.executable))} -m backscroll"


def _quoted(path: Path) -> str:
    """Return a path for a shell, relative to the working directory if it is below."""
    near = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return shlex.quote(str(near)) if os.name == "posix" else subprocess.list2cmdline([str(near)])
