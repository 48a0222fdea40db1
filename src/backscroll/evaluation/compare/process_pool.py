"""Running jobs in processes of this machine. Nothing is decided about their figures here.

A process that dies takes no other job with it: those that were not done are run again, one at a time, so that the one
that dies again is known, and its row says so.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from backscroll.evaluation.compare.jobs import Job, Row, failed, run

_AHEAD = 2  # jobs handed to the pool for each process: enough to keep it busy, few enough to stop soon
Run = Callable[[Job], Row]


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rows(jobs: Sequence[Job], processes: int, work: Run = run) -> Generator[tuple[int, Row], None, None]:
    """The row of each job with its place, as they are done. One process: here; more: in that many of their own.

    When the iterator is closed, as by Ctrl-C, nothing goes on.
    """
    if processes <= 1:
        yield from ((at, work(job)) for at, job in enumerate(jobs))
        return
    left = dict(enumerate(jobs))
    for at, row in _in_pool(left, processes, work):
        del left[at]
        yield at, row
    while left:  # the pool broke
        alone = {at: left[at] for at in list(left)[:1]}
        done = list(_in_pool(alone, 1, work))
        for at, job in alone.items():
            del left[at]
            yield at, done[0][1] if done else failed(job, "its process died, perhaps for lack of memory")


def _in_pool(jobs: dict[int, Job], processes: int, work: Run) -> Generator[tuple[int, Row], None, None]:
    """Ends early where a process dies."""
    # started anew and not copied: a copy of a process with threads may hang
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    waiting = iter(list(jobs.items()))  # what is done leaves the table meanwhile
    running: dict[Future[Row], int] = {}
    try:
        while True:
            for at, job in waiting:
                with _interrupts_waiting():
                    running[pool.submit(work, job)] = at
                if len(running) >= _AHEAD * processes:
                    break
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    except BrokenProcessPool:
        return
    finally:
        _end(pool)


@contextmanager
def _interrupts_waiting() -> Generator[None, None, None]:
    """Ctrl-C reaches every process of a terminal, and the one that started the others ends them. A process that is
    started inside never hears of it, from its first moment on; here it is heard right after.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(pool: ProcessPoolExecutor) -> None:
    processes = list((getattr(pool, "_processes", None) or {}).values())  # its public way comes with Python 3.14
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.join()
