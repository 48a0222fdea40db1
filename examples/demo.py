"""A session in an SQLite file that is killed in the middle and goes on: what `make demo` runs.

    python examples/demo.py FOLDER

An agent at work (`record_session.py`, with real tools over this tree) is a process of its own. It tells of each step
that is safe, with a checksum of the view that it would send next. In the middle it is killed with SIGKILL. Then the
session is opened here: it has every message that was told, and its next view is the same, byte for byte. A second
process takes it to its end.
"""

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from record_session import checksum, opened

HALF = 140  # messages; the session has about twice as many


class Told(NamedTuple):
    """What a process told before it ended."""

    messages: int
    view: str


def start(folder: Path) -> "subprocess.Popen[str]":
    """The agent, in a process of its own."""
    agent = Path(__file__).with_name("record_session.py")
    line = [sys.executable, str(agent), str(folder / "session.jsonl"), "--store", address(folder)]
    return subprocess.Popen(line, stdout=subprocess.PIPE, text=True)


def address(folder: Path) -> str:
    """Where the session is kept."""
    return f"sqlite:///{folder}/session.db"


def killed(folder: Path, least: int) -> Told:
    """Lets the agent work until it told of `least` messages, and kills it somewhat later, whatever it does then."""
    told = Told(0, "")
    with start(folder) as agent:
        assert agent.stdout is not None
        for line in agent.stdout:
            told = _told(line) or told
            if told.messages >= least and agent.poll() is None:
                time.sleep(random.random() / 5)
                agent.kill()
                least = sys.maxsize  # what it told until then is read to its end
    return told


def _told(line: str) -> Told | None:
    number, _, view = line.partition(" ")
    return Told(int(number), view.rstrip("\n")) if line.endswith("\n") and number.isdigit() else None


def resumed(folder: Path, told: Told) -> bool:
    """Opens what was left. False if a step was safe that the process had no time to tell of."""
    context = opened(address(folder))
    kept = context.get_messages()
    if len(kept) < told.messages:
        raise SystemExit(f"of {told.messages} messages {told.messages - len(kept)} are lost")
    if len(kept) > told.messages:
        return False
    view = context.get_messages_for_request()
    if checksum(view) != told.view:
        raise SystemExit("the next view is another one")
    usage = context.usage()
    print(f"resumed: all {len(kept)} messages are there, and the next view is the same, byte for byte:")
    print(f"         {len(view)} messages, {usage.used.tokens:,} tokens, sha256 {told.view[:16]}...")
    return True


def main() -> int:
    """Runs, kills, resumes, and goes on to the end; says what happened in a few lines."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("session.*"):
        old.unlink()
    print(
        f"running: an agent reads, searches and runs this tree; its session is in {folder / 'session.db'}", flush=True
    )
    least = HALF
    while True:
        told = killed(folder, least)
        print(f"killed:  with SIGKILL, after it had told of {told.messages} messages", flush=True)
        if resumed(folder, told):
            break
        print("resumed: one more step was on the disk already; once more", flush=True)
        least = told.messages + 10
    with start(folder) as agent:
        *_, last = agent.communicate()[0].splitlines()
    if agent.returncode:
        return agent.returncode
    print(f"went on: {last.partition(': ')[2]}; its transcript is {folder / 'session.jsonl'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
