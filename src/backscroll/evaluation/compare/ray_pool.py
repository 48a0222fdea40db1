"""Runs jobs on Ray, on one machine or many. Only this module knows Ray, and imports it on use.

Transcripts are read here and sent with the jobs, so that the machines of a cluster need no access to the files.
"""

import os
from collections.abc import Generator, Sequence
from typing import Any

from backscroll.errors import BackscrollError, ConfigurationError
from backscroll.evaluation.compare.jobs import Job, Row, Source, failed, run

LOCAL = "local"
"""The address that starts Ray on this machine, for these jobs only."""
_AHEAD = 4  # submitted jobs per core of the cluster


def rows(
    jobs: Sequence[Job], address: str = LOCAL, processes: int | None = None
) -> Generator[tuple[int, Row], None, None]:
    """Yield the row of each job with its index, as jobs finish.

    Args:
        jobs: The jobs.
        address: `local`, or that of a cluster (`auto` for the one this machine belongs to, `ray://host:10001`), where
            the same version of Backscroll must be installed.
        processes: Cores of this machine to use, with `local`. `None`: all.

    Raises:
        ConfigurationError: The extra is missing, or no cluster answers.
    """
    try:
        import ray  # noqa: PLC0415  an extra
    except ImportError as error:
        raise ConfigurationError(
            "a comparison on Ray requires the extra `ray`; run: pip install 'backscroll[ray]'"
        ) from error
    try:
        _start(ray, address, processes)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigurationError(f"cannot use Ray at {address}: {error}") from error
    try:
        yield from _done(ray, jobs)
    finally:
        ray.shutdown()


def _start(ray: Any, address: str, processes: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports every start to its vendor by default
        ray.init(address=LOCAL, num_cpus=processes, include_dashboard=False, **quiet)
    else:
        ray.init(address=address, **quiet)


def _done(ray: Any, jobs: Sequence[Job]) -> Generator[tuple[int, Row], None, None]:
    task = ray.remote(run)
    most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    sent: dict[Source, Any] = {}
    running: dict[Any, int] = {}
    for at, job in enumerate(jobs):
        try:
            if job.source not in sent:
                sent.clear()  # jobs come transcript by transcript; running jobs keep their own reference
                sent[job.source] = ray.put(job.source.load())
        except BackscrollError as error:
            yield at, failed(job, str(error))
            continue
        running[task.remote(job, sent[job.source])] = at
        if len(running) >= most:
            yield _next(ray, jobs, running)
    while running:
        yield _next(ray, jobs, running)


def _next(ray: Any, jobs: Sequence[Job], running: dict[Any, int]) -> tuple[int, Row]:
    (ready, *_), _ = ray.wait(list(running), num_returns=1)
    at = running.pop(ready)
    try:
        row: Row = ray.get(ready)
    except ray.exceptions.RayError as error:  # its process or machine died
        return at, failed(jobs[at], f"lost on Ray: {str(error).strip().splitlines()[0]}")
    return at, row
