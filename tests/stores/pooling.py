"""A pooler in its transaction mode, as PgBouncer is: whoever connects to it gets another connection to the server for
each transaction, so that nothing may be left in one.
"""

import itertools
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.present import present

_STARTUP, _SSL, _GSS = 196608, 80877103, 80877104


class Pooler:
    """Listens on a port of this machine; `used` counts transactions by the connection to the server they went to."""

    def __init__(self, server: str, size: int) -> None:
        parts = urlsplit(server)
        self._user, self._database = present(parts.username), parts.path.removeprefix("/")
        host, port = parse_qs(parts.query).get("host", [parts.hostname or ""])[0], parts.port or 5432
        self._place = f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)
        self._free = [self._connect() for _ in range(size)]
        self._changed = threading.Condition()
        self._backends, self._turn = list(self._free), itertools.count()
        self.used = dict.fromkeys(range(size), 0)
        self.losing = False
        """Set by a test: the next answer is lost, and the connection that waits for it."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"postgresql://{self._user}@127.0.0.1:{self._listener.getsockname()[1]}/{self._database}"
        self._clients = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _connect(self) -> socket.socket:
        family = socket.AF_UNIX if isinstance(self._place, str) else socket.AF_INET
        backend = socket.socket(family)
        backend.connect(self._place)
        words = ["user", self._user, "database", self._database, "client_encoding", "UTF8", ""]
        body = struct.pack("!i", _STARTUP) + b"".join(word.encode() + b"\0" for word in words)
        backend.sendall(struct.pack("!i", len(body) + 4) + body)
        self._greeting = b""
        while True:
            kind, message = receive(backend)
            if kind in b"RSZ":
                self._greeting += message  # what clients are greeted with as well
            if kind == b"Z":
                return backend

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                self._clients.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(ConnectionError, OSError), client:
            while True:
                size, code = struct.unpack("!ii", exactly(client, 8))
                exactly(client, size - 8)
                if code not in (_SSL, _GSS):
                    break
                client.sendall(b"N")
            client.sendall(self._greeting)
            while True:
                first = receive(client)
                if first[0] == b"X":
                    return
                with self._backend() as backend:
                    self._transaction(client, backend, first)

    @contextmanager
    def _backend(self) -> Any:
        """Another one each time, and the others first."""
        with self._changed:
            self._changed.wait_for(lambda: self._free)
            backend = self._free.pop(next(self._turn) % len(self._free))
            number = self._backends.index(backend)
            self.used[number] += 1
        try:
            yield backend
        except ConnectionError:  # perhaps in the middle of a transaction
            backend.close()
            backend = self._backends[number] = self._connect()
            raise
        finally:
            with self._changed:
                self._free.append(backend)
                self._changed.notify()

    def _transaction(self, client: socket.socket, backend: socket.socket, message: tuple[bytes, bytes]) -> None:
        while True:
            backend.sendall(message[1])
            if message[0] in b"QS":  # a simple query, or the end of an extended one
                answers, kind = b"", b""
                while kind != b"Z":
                    kind, answer = receive(backend)
                    answers += answer
                if self.losing and answers[-1:] == b"I":  # what was asked for is done
                    self.losing = False
                    raise ConnectionError
                client.sendall(answers)
                if answers[-1:] == b"I":
                    return
            message = receive(client)

    def prepared(self) -> list[int]:
        """How many prepared statements, cursors and locks each connection to the server has."""
        query = (
            "select (select count(*) from pg_prepared_statements) + (select count(*) from pg_cursors where "
            "not name = '') + (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) "
            "+ (select count(*) from pg_settings where source = 'session' and name <> 'client_encoding')"
            "+ (select count(*) from pg_listening_channels())"
        )
        return [int(self._asked(backend, query)) for backend in self._backends]

    def _asked(self, backend: socket.socket, query: str) -> str:
        backend.sendall(b"Q" + struct.pack("!i", len(query) + 5) + query.encode() + b"\0")
        value, kind = "", b""
        while kind != b"Z":
            kind, message = receive(backend)
            if kind == b"D":
                value = message[11:].decode()
            assert kind != b"E", message
        return value

    def close(self) -> None:
        self._listener.close()
        for each in (*self._clients, *self._backends):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def receive(connection: socket.socket) -> tuple[bytes, bytes]:
    """A message: its kind, and all of it."""
    head = exactly(connection, 5)
    return head[:1], head + exactly(connection, struct.unpack("!i", head[1:])[0] - 4)


def exactly(connection: socket.socket, size: int) -> bytes:
    """So many bytes."""
    parts = []
    while size:
        part = connection.recv(min(size, 1 << 16))
        if not part:
            raise ConnectionError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
