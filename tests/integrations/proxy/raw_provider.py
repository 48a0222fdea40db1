"""A provider that answers each request with bytes of its own, whether they are HTTP or not."""

import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress


class Raw:
    """The server. `pieces` makes what is written after each request; `broken` holds what ended that before its time."""

    def __init__(self, pieces: Callable[[], Iterable[bytes]]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.pieces = pieces
        self.requests = 0
        self.broken: list[OSError] = []

    def run(self) -> None:
        """Answer until the end."""
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def end(self) -> None:
        """Accept nothing more."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reading:
            length = 0
            while (line := reading.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            reading.read(length)
            self.requests += 1
            try:
                for piece in self.pieces():
                    connection.sendall(piece)
            except OSError as error:
                self.broken.append(error)


@contextmanager
def raw(pieces: Callable[[], Iterable[bytes]]) -> Iterator[Raw]:
    """The server, as long as it lasts."""
    server = Raw(pieces)
    threading.Thread(target=server.run, daemon=True).start()
    try:
        yield server
    finally:
        server.end()
