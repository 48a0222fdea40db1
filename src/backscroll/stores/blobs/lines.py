"""Work that may take long, done in threads, and in order for each session. Nothing else may live here.

An append whose bodies travel over a network must not hold up an event loop, nor be overtaken by the next append of its
session. So each session that has something to wait for has a thread, as long as it has; the others need none.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from backscroll.errors import StoreUnavailable

Job = tuple[Callable[[], None], "Future[None]"]


class Lines:
    """A line of jobs for each session. The interpreter waits for them before it ends."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._jobs: dict[str, deque[Job]] = {}
        """Of the sessions that have a thread; the first one of a line is being done."""
        self._threads: dict[str, threading.Thread] = {}

    def idle(self, session: str) -> bool:
        """Whether nothing is waited for."""
        return session not in self._jobs

    def put(self, session: str, work: Callable[[], Any]) -> Future[Any]:
        """Has something done behind what was put before; the future tells how it went."""
        if self._process != os.getpid():  # the child of a fork has neither the threads nor anything for them to do
            self._begin()
        done: Future[Any] = Future()
        with self._lock:
            if session in self._jobs:
                self._jobs[session].append((work, done))
                return done
            thread = threading.Thread(target=self._run, args=(session,), name="offloads")
            self._jobs[session], self._threads[session] = deque([(work, done)]), thread
            try:
                thread.start()
            except RuntimeError as error:
                del self._jobs[session], self._threads[session]
                raise StoreUnavailable("the interpreter is ending, nothing was written") from error
        return done

    def wait(self) -> None:
        """Returns when everything is done that was put before."""
        if self._process == os.getpid():
            with self._lock:
                threads = list(self._threads.values())
            for thread in threads:
                if thread is not threading.current_thread():
                    thread.join()

    def _run(self, session: str) -> None:
        going = True
        while going:
            work, done = self._jobs[session][0]
            answer, failure = None, None
            wanted = done.set_running_or_notify_cancel()
            try:
                if wanted:
                    answer = work()
            except BaseException as error:  # whatever it was: somebody waits for it
                failure = error
            going = self._next(session)  # before it is answered: who hears of it finds nothing to wait for
            if failure is not None:
                done.set_exception(failure)
            elif wanted:
                done.set_result(answer)

    def _next(self, session: str) -> bool:
        """Takes what was done out of its line. Says whether there is more."""
        with self._lock:
            self._jobs[session].popleft()
            if self._jobs[session]:
                return True
            del self._jobs[session], self._threads[session]
            return False
