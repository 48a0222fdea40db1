"""A store between whose calls another process works."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backscroll.ports import Stored, Tip
from backscroll.stores.sqlite import SqliteStore


class Interleaved(SqliteStore):
    """Lets another process work before its call of some number."""

    def __init__(self, path: Path, number: int, meanwhile: Callable[[], object]) -> None:
        super().__init__(path)
        self.left, self.meanwhile = number, meanwhile

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.meanwhile()

    def tip(self, session: str) -> Tip:
        self._count()
        return super().tip(session)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        self._count()
        return super().read(session, start, stop)

    def find(self, *arguments: Any, **named: Any) -> Any:
        self._count()
        return super().find(*arguments, **named)

    def append(self, *arguments: Any, **named: Any) -> Any:
        self._count()
        return super().append(*arguments, **named)
