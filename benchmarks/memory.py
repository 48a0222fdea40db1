"""What a session without a store takes in memory, beside the text of its messages. Prints a table.

    python benchmarks/memory.py [--sessions tools,chat] [--lengths 1000,10000,100000] [--budget 32000]
        [--transcripts FOLDER] [--write]

A view is made after every step, as in an agent's loop. The text is that of all strings in the messages, in bytes of
UTF-8. The memory is what the process has grown by since it loaded the vocabulary, as Linux counts its resident pages.
The last column is the growth since the length before, for each byte of text that came. The conversations are those of
`step_floor.py`: without `--transcripts` there is no `chat`. `--write` puts the table into `benchmarks/README.md`.
"""

import argparse
import gc
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from page import put
from sessions import chat, fresh, recorded, steps_of

from backscroll import ContextManager

HEAD = "| session | messages | text | memory | memory / text | each further byte |\n|" + " --- |" * 6


def resident() -> int:
    """Return the bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * resource.getpagesize()


def text_of(value: Any) -> int:
    """Return the bytes of all strings in a message, but for the names of its fields."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, dict):
        return sum(map(text_of, value.values()))
    return sum(map(text_of, value)) if isinstance(value, list) else 0


def grown(asked: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Fill one session. Returns messages, bytes of text and bytes of memory at each length."""
    with ContextManager() as other:
        other.warm()
    found, lengths = list[tuple[int, int, int]](), sorted(asked["lengths"])
    messages = json.loads(Path(asked["session"]).read_text("utf-8"))
    gc.collect()
    before, count, text = resident(), 0, 0
    with ContextManager() as manager:
        for step in steps_of(fresh(messages)):
            count, text = count + len(step), text + sum(map(text_of, step))
            manager.append(*step)
            manager.get_messages_for_request(token_budget=asked["budget"])
            if count >= lengths[len(found)]:
                gc.collect()
                found.append((count, text, resident() - before))
                if len(found) == len(lengths):
                    break
    return found


def rows(session: str, found: list[tuple[int, int, int]]) -> list[str]:
    """Write the rows of one session."""
    lines, last_text, last_memory = list[str](), 0, 0
    for count, text, memory in found:
        further = f"{(memory - last_memory) / (text - last_text):.2f}" if last_text else "-"
        megabytes = [f"{size / 1e6:.1f} MB" for size in (text, memory)]
        lines.append(f"| {' | '.join([session, f'{count:,}', *megabytes, f'{memory / text:.2f}', further])} |")
        last_text, last_memory = text, memory
    return lines


def measured(session: str, file: Path, given: argparse.Namespace) -> list[str]:
    """Measure one session in a process of its own."""
    asked = {"session": str(file), "lengths": given.lengths, "budget": given.budget}
    command = [sys.executable, "-W", "ignore", __file__, "--process", json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{session} failed:\n{done.stderr[-2_000:]}")
    lines = rows(session, json.loads(done.stdout))
    print(*lines, sep="\n", file=sys.stderr, flush=True)
    return lines


def main() -> None:
    """Measure what was asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sessions", type=lambda text: text.split(","), default=["tools", "chat"])
    lengths = [1_000, 10_000, 100_000]
    arguments.add_argument("--lengths", type=lambda text: [*map(int, text.split(","))], default=lengths)
    arguments.add_argument("--budget", type=int, default=32_000)
    arguments.add_argument("--transcripts", type=Path)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--process", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.process:
        print(json.dumps(grown(json.loads(given.process))))
        return
    lines = [HEAD]
    with tempfile.TemporaryDirectory() as place:
        known: dict[str, Callable[[], Any]] = {"tools": lambda: recorded(Path(place) / "recorded.jsonl")}
        if given.transcripts is not None:
            known["chat"] = lambda: chat(given.transcripts)
        for session in given.sessions:
            if session not in known:
                print(f"Skipped: {session}, which needs --transcripts", file=sys.stderr)
                continue
            file = Path(place) / f"{session}.json"
            file.write_text(json.dumps(known[session]()), "utf-8")
            lines += measured(session, file, given)
    table = "\n".join(lines)
    print(table)
    if given.write:
        put("text", table)


if __name__ == "__main__":
    main()
