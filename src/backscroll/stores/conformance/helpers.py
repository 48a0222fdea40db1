"""What the checks share: unusual names, records, and comparisons."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from backscroll.errors import ConflictError
from backscroll.ports import Pending, Record, Store, Stored

Make = Callable[[], Store]
Absent = str | None
Check = Callable[[Make, Make | None], Absent]

EVERY_BYTE = bytes(range(256))
NAMES = (
    *("a", "A", " ", "'", '"', "`", "\\", "/", ".", "..", "../../etc/passwd", "/etc/passwd", "C:\\x", "a/b", "%", "_"),
    *("*", "?", ";", "--", "' or 1=1 --", "null", "None", "0", "-1", "é", "e\u0301", "日本", "👩‍👩‍👧", "\u202e", "{}"),
    *("con", "nul.txt", "a:b", "a b", "x" * 255, "é" * 127, "👩" * 63, "memory:", "sqlite:///x", "~", "\ufeff"),
)  # fmt: skip
REFUSED = ("", "\0", "a\0b", "\n", "a\tb", "\x1b[0m", "\x7f", "\x85", "\ud800", "a\udfff", "x" * 256, "é" * 128)
PATIENCE = 60  # seconds, for what must happen eventually


def record(number: int, body: bytes | None = None) -> Record:
    """A record that differs from that of any other number."""
    return Record("message", number, b"body %d" % number if body is None else body, 1)


def stored(first: int, records: Sequence[Record]) -> list[Stored]:
    """Records as a store should return them."""
    return [Stored(first + number, each) for number, each in enumerate(records)]


def failure(action: Callable[[], Any]) -> Exception | None:
    """The exception that an action raises, at once or through its result."""
    try:
        pending = action()
        if hasattr(pending, "result"):
            pending.result()
        elif hasattr(pending, "__next__"):
            list(pending)
    except Exception as error:
        return error
    return None


def itself(pending: Pending) -> Pending:
    """Return a pending result as an action's."""
    return pending


def expect(condition: bool, message: str) -> None:
    """Assert, also where Python runs with `-O` and skips `assert`."""
    if not condition:
        raise AssertionError(message)


def same(got: object, wanted: object, what: str) -> None:
    """Assert equality; the message shows the beginning of both."""
    expect(got == wanted, f"{what}: {str(got)[:300]} instead of {str(wanted)[:300]}")


def together(work: Sequence[Callable[[], None]]) -> None:
    """Run each function in a thread of its own, and raise the first error."""
    errors: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def retried(store: Store, session: str, bodies: Sequence[bytes]) -> None:
    """Append at the end of the log, and retry after each conflict."""
    while True:
        first = store.length(session)
        try:
            store.append(session, first, [record(first + n, body) for n, body in enumerate(bodies)]).result()
        except ConflictError:
            continue
        return
