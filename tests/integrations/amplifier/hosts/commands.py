"""Amplifier's command line from within: its single run, and its interactive prompt with keys that are typed into it.

Both are the functions that `amplifier run` and `amplifier session resume` call. Runs inside a journey's process.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

NAME = "journey"
SECONDS = 60


def settle(session: str) -> None:
    """The settings of a user who has a provider, without which the command line would install some; and the session's
    folder, which Amplifier's log of events makes in each session.
    """
    (store().base_dir / session).mkdir(exist_ok=True)
    place = Path.home() / ".amplifier" / "settings.yaml"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(yaml.safe_dump({"config": {"providers": [{"module": "provider-scripted"}]}}), encoding="utf-8")


def store() -> Any:
    """Where the command line keeps its sessions."""
    from amplifier_app_cli.session_store import SessionStore  # type: ignore[import-not-found]  # as in bundles.py

    return SessionStore()


def saved(session: str) -> list[dict[str, Any]]:
    """The transcript that the command line wrote."""
    transcript: list[dict[str, Any]] = store().load(session)[0]
    return transcript


async def opened(prepared: Any, session: str) -> Any:
    """A new session with all that the command line registers in it."""
    from amplifier_app_cli.session_runner import (  # type: ignore[import-not-found]  # as in bundles.py
        SessionConfig,
        create_initialized_session,
    )
    from rich.console import Console

    settle(session)
    config = SessionConfig(prepared.mount_plan, [], verbose=False, session_id=session, prepared_bundle=prepared)
    return await create_initialized_session(config, Console(quiet=True))


async def single(prepared: Any, prompt: str, session: str, transcript: list[dict[str, Any]] | None = None) -> None:
    """`amplifier run`, or with a transcript `amplifier session resume`, with one prompt."""
    from amplifier_app_cli.main import execute_single  # type: ignore[import-not-found]  # as in bundles.py

    settle(session)
    await execute_single(
        prompt, prepared.mount_plan, [], verbose=False, session_id=session, bundle_name=NAME,
        prepared_bundle=prepared, initial_transcript=transcript,
    )  # fmt: skip  # one call


async def interactive(
    prepared: Any, lines: Sequence[str], session: str, transcript: list[dict[str, Any]] | None = None
) -> str:
    """The interactive prompt, with these lines typed into it; the last one should end it. Returns what it shows."""
    from amplifier_app_cli.main import interactive_chat
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    settle(session)
    shown = StringIO()
    with redirect_stdout(shown), create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        typing = asyncio.create_task(_type(keys, lines))
        talk = interactive_chat(
            prepared.mount_plan, [], verbose=False, session_id=session, bundle_name=NAME,
            prepared_bundle=prepared, initial_transcript=transcript,
        )  # fmt: skip  # one call
        try:
            await asyncio.wait_for(talk, SECONDS)
        finally:
            typing.cancel()
    return shown.getvalue()


async def _type(keys: Any, lines: Sequence[str]) -> None:
    """Types each line when the prompt waits for it; what is typed during a turn would steer that turn."""
    for line in lines:
        await _type_line(keys, line)


async def _type_line(keys: Any, line: str) -> None:
    await _until(lambda: _prompt_text() == "")
    keys.send_text(line)
    await _until(lambda: _prompt_text() == line)
    keys.send_text("\r")
    await _until(lambda: _prompt_text() != line)


async def _until(there: Callable[[], bool]) -> None:
    while not there():
        await asyncio.sleep(0.01)


def _prompt_text() -> str | None:
    """What is typed at the prompt so far; None while it does not wait. Only its history is in a file."""
    from prompt_toolkit.application.current import get_app_session
    from prompt_toolkit.history import FileHistory

    app = get_app_session().app
    if app is None or not app.is_running or not isinstance(app.current_buffer.history, FileHistory):
        return None
    return str(app.current_buffer.text)
