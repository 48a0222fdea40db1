"""Blobs as files in a folder.

A blob is written to a temporary file, synced and then linked to its name, so that a file under its name is always
complete. Both the file and its folder are synced before `put` returns. Temporary files that a crash leaves are listed
with the names and deleted like blobs. Only the owner can read the files.
"""

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

from backscroll.errors import ConfigurationError, CorruptionError, StoreError, StoreUnavailableError
from backscroll.ports import BlobInfo
from backscroll.stores.names import checked_blob

_SHARD = 2  # last characters of a name: subfolders keep directory listings short
_REST = re.compile(r"[0-9a-f]{16}[.]part")  # suffix of a temporary file


class FolderBlobs:
    """Blobs in the folder `path`, which the first `put` creates. Move or copy it together with its database."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        name = os.fspath(path)
        if not isinstance(name, str) or not name or "\0" in name:
            raise ConfigurationError(f"{name!r} is not a folder for blobs: pass the path of a folder")
        self.path: str = os.path.realpath(name)

    def __repr__(self) -> str:
        return f"FolderBlobs({self.path!r})"

    def put(self, name: str, data: bytes) -> None:
        """Write a file and return when it is on disk. An existing file is not changed."""
        place = self._place(checked_blob(name))
        part = place.with_name(f"{name}.{secrets.token_hex(8)}.part")
        try:
            self._make(place.parent)
            try:
                _write(part, data)
                _link(part, place)
            finally:
                part.unlink(missing_ok=True)
            _sync_folder(place.parent)
        except OSError as error:
            raise self._fault(name, error) from error

    def get(self, name: str) -> bytes:
        """Return the content of a file. Raise `CorruptionError` if it is missing."""
        try:
            return self._place(checked_blob(name)).read_bytes()
        except FileNotFoundError as error:
            raise CorruptionError(f"the blob {name} is missing in {self!r}") from error
        except OSError as error:
            raise self._fault(name, error) from error

    def delete(self, name: str) -> None:
        """Delete a file, or the temporary file of an interrupted `put`."""
        blob, dot, rest = name.partition(".")
        checked_blob(name if dot and not _REST.fullmatch(rest) else blob)
        place = self._place(name)
        try:
            place.unlink(missing_ok=True)
            if place.parent.is_dir():
                _sync_folder(place.parent)
        except OSError as error:
            raise self._fault(name, error) from error

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Yield all files whose names start with `prefix`, including temporary files."""
        try:
            with os.scandir(self.path) as found:
                shards = sorted(entry.path for entry in found if len(entry.name) == _SHARD and entry.is_dir())
            for shard in shards:
                yield from self._in_shard(shard, prefix)
        except FileNotFoundError:
            return
        except OSError as error:
            raise self._fault(f"{prefix}*", error) from error

    def _in_shard(self, shard: str, prefix: str) -> list[BlobInfo]:
        kept, now = [], time.time()
        with os.scandir(shard) as found:
            for entry in found:
                if entry.name.startswith(prefix):
                    with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                        kept.append(BlobInfo(entry.name, max(now - entry.stat().st_mtime, 0.0)))
        return kept

    def _place(self, name: str) -> Path:
        return Path(self.path, name.partition(".")[0][-_SHARD:].rjust(_SHARD, "_"), name)

    def _make(self, shard: Path) -> None:
        """Create a missing folder and its parents, synced so that they survive a power cut."""
        missing = []
        folder = shard
        while not folder.is_dir():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
            _sync_folder(folder.parent)

    def _fault(self, name: str, error: OSError) -> StoreError:
        return StoreUnavailableError(
            f"the blob {name} in {self!r}: {error.strerror or error}; check the folder, its permissions and free space"
        )


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with open(descriptor, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) or 0 :]
        os.fsync(descriptor)


def _link(part: Path, place: Path) -> None:
    """Link the file to its name, unless the name is taken."""
    try:
        os.link(part, place)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        if not place.exists():
            part.rename(place)


def _sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk. Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
