"""Keeping a session for one writer: a file beside the session's, with an owner and a time by the system's clock."""

import contextlib
import json
import os
import time

from backscroll.stores.jsonl.file import LogFile
from backscroll.stores.jsonl.folder import Folder
from backscroll.stores.names import kept


def lease(folder: Folder, log: LogFile, owner: str, seconds: float) -> None:
    """Takes, prolongs or, with 0 seconds, ends a lease. Raises `ConflictError` while another one holds it."""
    with folder.changing():
        now = time.time()
        holder, until = _held(log.lease)
        if holder not in (None, owner) and until > now:
            raise kept(log.session, str(holder), until - now)
        if not seconds:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(log.lease)
            return
        with os.fdopen(os.open(log.lease, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({"owner": owner, "until": now + seconds}, file)


def _held(path: str) -> tuple[str | None, float]:
    """Who holds a lease, and until when. What a crash left half written holds nothing."""
    try:
        with open(path, encoding="utf-8") as file:
            told = json.load(file)
        return str(told["owner"]), float(told["until"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None, 0.0
