"""The repository that the agents work in: files that can be read, searched and edited, and long logs."""

import random
import subprocess
from pathlib import Path

WORDS = ("alpha", "beta", "gamma", "delta", "queue", "worker", "socket", "retry", "budget", "token", "cache", "shard")


def make_repository(folder: Path) -> None:
    """Write it. It is the same each time."""
    chance = random.Random(7)
    (folder / "src").mkdir(parents=True)
    (folder / "logs").mkdir()
    (folder / "pauses").mkdir()
    (folder / ".gitignore").write_text("pauses/\n")  # clients that list the files for the model leave these out
    for at in range(17):
        (folder / "src" / f"module_{at:02d}.py").write_text(_module(at, chance))
    for at in range(5):
        (folder / "logs" / f"run_{at}.log").write_text("".join(_line(chance) for _ in range(300 + 100 * at)))
    (folder / "README.md").write_text("# Sample\n\nA sample.\n\n" + " ".join(chance.choices(WORDS, k=200)) + "\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        who = ["-c", "user.name=sample", "-c", "user.email=sample@example.org"]
        subprocess.run(["git", "-C", str(folder), *who, *command], check=True)


def _module(at: int, chance: random.Random) -> str:
    lines = [f'"""Module {at}."""', "EDITS = 0", ""]
    for number in range(6 + at):
        lines += [f"def function_{number}(a, b):", f'    """{" ".join(chance.choices(WORDS, k=9))}."""']
        lines += [f"    total = a * {chance.randint(1, 99)} + b  # {' '.join(chance.choices(WORDS, k=4))}"]
        lines += ["    return total", ""]
    return "\n".join([*lines, f"# needle-{at % 7}: the number of module {at} is {chance.randint(10**6, 10**7)}", ""])


def _line(chance: random.Random) -> str:
    day, hour = chance.randint(1, 28), chance.randint(0, 23)
    level, first, second = chance.choice(["INFO", "WARN", "DEBUG"]), *chance.choices(WORDS, k=2)
    number, took = chance.randint(0, 10**9), chance.randint(1, 900)
    return f"2026-01-{day:02d}T{hour:02d}:00:00Z {level} {first} {second} id={number:x} took {took}ms\n"
