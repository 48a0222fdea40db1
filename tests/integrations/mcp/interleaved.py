"""A store between whose calls another process works."""

from backscroll.stores.sqlite import SqliteStore


class Interleaved(SqliteStore):
    """Lets another process work before its call of some number."""

    def __init__(self, path, number, meanwhile):
        super().__init__(path)
        self.left, self.meanwhile = number, meanwhile

    def _count(self):
        self.left -= 1
        if self.left == 0:
            self.meanwhile()

    def tip(self, session):
        self._count()
        return super().tip(session)

    def read(self, session, start=0, stop=None):
        self._count()
        return super().read(session, start, stop)

    def find(self, *arguments, **named):
        self._count()
        return super().find(*arguments, **named)

    def append(self, *arguments, **named):
        self._count()
        return super().append(*arguments, **named)
