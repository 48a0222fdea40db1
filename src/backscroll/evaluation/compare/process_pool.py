"""Runs jobs in processes of this machine, with `concurrent.futures`."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from backscroll.evaluation.compare.jobs import Job, Row, failed, run

Run = Callable[[Job], Row]


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def rows(jobs: Sequence[Job], processes: int, work: Run = run) -> Generator[tuple[int, Row], None, None]:
    """Yield the row of each job with its index, as jobs finish. One process runs them here.

    A process that dies breaks its pool. Each unfinished job is then tried once more in its own process; if that one
    dies too, the job's row says so. Closing the iterator, as Ctrl-C does, ends all processes.
    """
    if processes <= 1:
        yield from ((at, work(job)) for at, job in enumerate(jobs))
        return
    left = dict(enumerate(jobs))
    for at, row in _in_pool(left, processes, work):
        del left[at]
        yield at, row
    for at, job in left.items():
        ((_, row),) = list(_in_pool({at: job}, 1, work)) or [
            (at, failed(job, "its process died twice: check for lack of memory"))
        ]
        yield at, row


def _in_pool(jobs: dict[int, Job], processes: int, work: Run) -> Generator[tuple[int, Row], None, None]:
    """Yield rows until all jobs are done or a process dies."""
    # spawn: a forked copy of a process with threads may hang
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    try:
        with _interrupts_blocked():
            futures = {pool.submit(work, job): at for at, job in jobs.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool:
        return
    finally:
        running = list((getattr(pool, "_processes", None) or {}).values())  # `terminate_workers` comes with Python 3.14
        pool.shutdown(wait=False, cancel_futures=True)
        for process in running:
            process.terminate()
        for process in running:
            process.join()


@contextmanager
def _interrupts_blocked() -> Generator[None, None, None]:
    """Block Ctrl-C. It reaches every process of a terminal, but only the parent handles it: a process started in here
    inherits the blocked signal and never prints its own traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
