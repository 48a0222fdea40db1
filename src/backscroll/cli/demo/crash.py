"""Kills the demo's agent at an arbitrary moment, resumes its session, and has a second process finish it."""

import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import backscroll
from backscroll.cli.demo.agent import checksum, next_view, opened
from backscroll.errors import BackscrollError
from backscroll.evaluation.fake_providers import FakeOpenAIChat, FakeProviderError

HALF = 140
"""Messages after which the agent may be killed; its session has about twice as many."""
_ANY = 10**9  # tokens of the provider's window: only what it takes is shown here, and not how much
_LATEST = 200  # milliseconds between the last report that is waited for and the kill


class DemoFailure(Exception):
    """A process of the demo failed, or what it stored is not what it had reported."""


class Reported(NamedTuple):
    """What a process reported before it ended."""

    messages: int
    view: str
    """SHA-256 of the view that it would have sent next."""
    ended_by: str


class Resumed(NamedTuple):
    """What another process found in the store."""

    messages: int
    view_messages: int
    view_tokens: int


@dataclass(frozen=True)
class Place:
    """The tree that the agent explores, and where its session is kept."""

    root: Path
    database: Path
    transcript: Path

    def start(self, *options: str) -> "subprocess.Popen[str]":
        """Start the agent in a process of its own, with the package that runs here."""
        line = [sys.executable, "-m", "backscroll.cli.demo.agent", str(self.transcript)]
        line += ["--root", str(self.root), "--store", str(self.database), *options]
        source = str(Path(backscroll.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.Popen(  # noqa: S603  this interpreter, and paths as arguments
            line, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
        )


def kill_midway(place: Place, least: int) -> Reported:
    """Run the agent until it reported `least` messages, and kill it somewhat later, in the middle of what it does.

    Raises:
        DemoFailure: the agent ended by itself.
    """
    messages, view = 0, ""
    with place.start() as agent:
        assert agent.stdout is not None
        for line in agent.stdout:
            number, _, checked = line.partition(" ")
            if not line.endswith("\n") or not number.isdigit():
                continue  # cut by the kill, or not a report
            messages, view = int(number), checked.rstrip("\n")
            if messages >= least and agent.poll() is None:
                time.sleep(secrets.randbelow(_LATEST) / 1_000)
                agent.kill()
                least = sys.maxsize  # what was reported until then is read to its end
    if least != sys.maxsize or agent.returncode == 0:
        raise DemoFailure(f"the agent ended by itself after {messages} messages, with exit code {agent.returncode}")
    return Reported(messages, view, _ended_by(agent.returncode))


def _ended_by(code: int) -> str:
    """Return the name of the signal; Windows has none."""
    return signal.Signals(-code).name if code < 0 else "TerminateProcess"


def resume(place: Place, reported: Reported) -> Resumed | None:
    """Open what a killed process left. `None`: one more step was stored than it had time to report.

    Raises:
        DemoFailure: a reported message is lost, or the next view is another one.
    """
    try:
        with opened(place.database) as context:
            kept = len(context.get_messages())
            if kept < reported.messages:
                raise DemoFailure(f"{reported.messages - kept} of {reported.messages} messages are lost")
            if kept > reported.messages:
                return None
            view = next_view(context)
            if checksum(view) != reported.view:
                raise DemoFailure(f"the next view is not the one of {reported.view[:16]}...")
            return Resumed(kept, len(view), context.usage().used.tokens)
    except BackscrollError as error:
        raise DemoFailure(f"{place.database} cannot be resumed: {error}") from error


class InTurn(NamedTuple):
    """What a process left that ended between an answer of the model and the results of its calls."""

    tools: list[str]
    """The tools that the answer calls."""
    refusal: str
    """What a provider says to the history as it is."""


def kill_in_turn(place: Place) -> InTurn:
    """Have the agent end in the middle of a turn, and send what a resume would send to a provider with OpenAI's rules.

    Raises:
        DemoFailure: the provider refuses the view, or would have taken the history as it is.
    """
    with place.start("--dies") as agent:
        agent.communicate()
    provider = FakeOpenAIChat(window=_ANY)
    with opened(place.database) as context:
        tools = [call.tool for call in context.open_calls()]
        if agent.returncode == 0 or not tools:
            raise DemoFailure(f"the agent did not end in the middle of a turn: exit code {agent.returncode}")
        try:
            provider.create(messages=context.get_messages())
        except FakeProviderError as error:
            refusal = error.message
        else:
            raise DemoFailure("the provider takes a call without its result, which no provider does")
        try:
            provider.create(messages=context.view())
        except FakeProviderError as error:
            raise DemoFailure(f"the provider refuses the view: {error.message}") from error
    return InTurn(tools, refusal)


def finish(place: Place) -> str:
    """Have a second process continue the session to its end; return what it says of its size."""
    with place.start() as agent:
        *_, last = agent.communicate()[0].splitlines() or [""]
    if agent.returncode:
        raise DemoFailure(f"the agent could not continue its session: exit code {agent.returncode}")
    return last.rpartition(": ")[2]
