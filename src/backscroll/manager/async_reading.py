"""What the manager for asyncio reads of a session without a change: its messages, views, requests and deeds."""

from collections.abc import Collection
from typing import Any

from backscroll.manager.base import ManagerBase
from backscroll.manager.driver import run_async
from backscroll.session.deed_record import DeedRecord
from backscroll.session.explain import MessageStatus, explain
from backscroll.session.open_calls import OpenCall, open_calls
from backscroll.session.past import get_messages, messages_at, view_at
from backscroll.session.request_log import RequestRecord, RequestSnapshot, get_request, list_requests
from backscroll.session.window_report import WindowReport, window_report


class AsyncReading(ManagerBase):
    """The methods that only read a session."""

    async def open_calls(self) -> list[OpenCall]:
        """Return the tool calls without a result, oldest first, to run or refuse them after a crash."""
        return await run_async(self._opened, open_calls(self._session))

    async def get_messages(self) -> list[dict[str, Any]]:
        """Return every message of the current branch as it was added. Compaction never changes these.

        Raises:
            StoreError: The store failed.
        """
        return await run_async(self._opened, get_messages(self._session))

    async def history(self, at: int | None = None) -> list[dict[str, Any]]:
        """Return the messages of the branch, now or at an earlier point.

        Args:
            at: Number of the message that had just been added at that point. `None`: now.

        Returns:
            The messages as they were added, oldest first.

        Raises:
            ReferenceNotFoundError: The session has no message of this number.
        """
        operation = get_messages(self._session) if at is None else messages_at(self._session, at)
        return await run_async(self._opened, operation)

    async def view(self, at: int | None = None, *, lane: str = "main") -> list[dict[str, Any]]:
        """Return the lane's view without compacting it, now or at an earlier point.

        Args:
            at: Number of a message: return the last view that was sent, or would have been, before a message came after
                it. `None`: the view now.
            lane: The lane of the view.

        Returns:
            The messages of the view without ephemeral ones, which are never stored.

        Raises:
            ReferenceNotFoundError: The session has no message of this number.
        """
        return await run_async(self._opened, view_at(self._session, at, lane))

    async def deeds(self, since: int = 0, *, kinds: Collection[str] | None = None) -> list[DeedRecord]:
        """Return what the calls of tools did, oldest first: files changed, commits, checks and their outcome, commands,
        questions and their answers, refusals, and also what was looked up.

        A shell command has a deed for each step that changed something. The deeds are read from the messages by code:
        no model is called, and what a tool did beyond its arguments and its result is not seen.

        Args:
            since: Number of the first message whose calls are read.
            kinds: The kinds that are returned, such as `["edit", "commit"]`. `None`: all.

        Returns:
            The deeds of the branch. A call without a result has the outcome `no result`.

        Raises:
            ConfigurationError: There is no such kind.
            StoreError: The store failed.
        """
        return await run_async(self._opened, self._deeds(since, kinds))

    async def explain(self, lane: str = "main") -> list[MessageStatus]:
        """Return what happened to each message in the lane's newest view, and why.

        Args:
            lane: The lane of the view.

        Returns:
            One `MessageStatus` for each message of the branch, oldest first.
        """
        return await run_async(self._opened, explain(self._session, lane))

    async def list_requests(self, start: int = 0, stop: int | None = None) -> list[RequestRecord]:
        """Return the requests that were made, oldest first.

        A request is stored with the next change of the session or by `aclose`; one made just before a crash is missing.

        Args:
            start: First position in the session's log to look at. To poll, pass one more than the last known position.
            stop: Position to stop before. `None`: the end of the log.

        Returns:
            The records, each with its position, which `get_request` takes.
        """
        return await run_async(self._opened, list_requests(self._session, start, stop))

    async def get_request(self, request: int) -> RequestSnapshot:
        """Return what `get_messages_for_request` returned for an earlier request, and why each message was in it.

        Ephemeral messages, which are never stored, appear as `{"role": ..., "ephemeral": SHA-256}`. The cost grows with
        the length of the view, counted from the nearest checkpoint.

        Args:
            request: The position of the request in the log, from `list_requests`.

        Returns:
            The messages of the request with the reason for each.

        Raises:
            ReferenceNotFoundError: There is no request at this position.
        """
        return await run_async(self._opened, get_request(self._session, request))

    async def window_report(self, lane: str = "main") -> WindowReport:
        """Return the parts of the lane's window, its largest messages and what a compaction now would do. Changes
        nothing.

        Args:
            lane: The lane of the window.

        Returns:
            The report; all figures in tokens.
        """
        return await run_async(self._opened, window_report(self._session, lane))
