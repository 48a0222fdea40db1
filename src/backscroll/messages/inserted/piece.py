"""A piece of a user's text, who is behind it, and the pieces of a command put together."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

NAME, ARGUMENTS, ABOUT, OUTPUT = "name of a command", "command arguments", "command", "local command"
"""Names of the shapes of which a command consists."""
TAG = "<command-name>"
TEMPLATE = "text of a command"
_TEMPLATE = 600  # characters behind a command without output: less may be the user's next message, joined to it
_OF_HOST = frozenset(
    ["/clear", "/compact", "/config", "/context", "/cost", "/exit", "/help", "/login", "/mcp", "/model", "/plugin",
     "/quit", "/rename", "/resume", "/status", "/terminal-setup", "/usage"]
)  # fmt: skip  # a table
"""Commands that speak to the host alone: without arguments they ask the agent for nothing."""
Rank = Literal["typed", "pasted", "inserted"]


class Piece(NamedTuple):
    """A part of a text and who is behind it."""

    rank: Rank
    text: str
    name: str = ""
    """The shape by which a host inserted it. A line that says no more than its shape has no text."""


def with_commands(pieces: Sequence[Piece]) -> list[Piece]:
    """Return pieces with each command as one that was typed, such as "/deploy staging", and with the template behind it
    as inserted.
    """
    if not any(piece.name == NAME for piece in pieces):
        return list(pieces)
    return _without_template(_joined(pieces))


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    taken: set[int] = set()
    for at, piece in enumerate(pieces):
        if piece.name == NAME:
            ends = (later for later in range(at + 1, len(pieces)) if pieces[later].name == NAME)
            behind = range(at + 1, next(ends, len(pieces)))
            arguments = next((later for later in behind if _has_arguments(pieces[later])), None)
            taken |= set() if arguments is None else {arguments}
            joined.append(_command(piece.text, "" if arguments is None else pieces[arguments].text))
        elif at not in taken:
            joined.append(piece)
    return joined


def _has_arguments(piece: Piece) -> bool:
    return piece.name == ARGUMENTS and piece.rank == "typed"


def _command(name: str, arguments: str) -> Piece:
    name, arguments = f"/{name.strip().removeprefix('/')}", arguments.strip()
    if name in _OF_HOST and not arguments:
        return Piece("inserted", name, ABOUT)
    return Piece("typed", f"{name} {arguments}".rstrip(), NAME)


def _without_template(pieces: list[Piece]) -> list[Piece]:
    """Take what follows a command that has no output for its template, if it is long: the host sends it in full."""
    last = max((at for at, piece in enumerate(pieces) if piece.name in (NAME, ABOUT)), default=len(pieces))
    behind = pieces[last + 1 :]
    if any(piece.name == OUTPUT for piece in behind):
        return pieces
    if sum(len(piece.text) for piece in behind if not piece.name) <= _TEMPLATE:
        return pieces
    return pieces[: last + 1] + [piece if piece.name else Piece("inserted", piece.text, TEMPLATE) for piece in behind]
