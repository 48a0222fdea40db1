"""Running jobs on Ray, on one machine or many. The only place that knows Ray, which is imported when it is asked for.

Transcripts are read here and travel with the jobs, so that the machines of a cluster need not see the files.
"""

import os
from collections.abc import Generator, Sequence
from typing import Any

from backscroll.errors import BackscrollError, ConfigurationError
from backscroll.evaluation.compare.jobs import Job, Row, Source, failed, run

LOCAL = "local"
"""The address by which Ray is started on this machine, for these jobs alone."""
_AHEAD = 4  # jobs handed over for each core of the cluster


def rows(
    jobs: Sequence[Job], address: str = LOCAL, processes: int | None = None
) -> Generator[tuple[int, Row], None, None]:
    """The row of each job with its place, as they are done.

    `address`: `local`, or that of a cluster (`auto` for the one this machine belongs to, `ray://host:10001`), where
    Backscroll of this version has to be installed. `processes`: cores to use of this machine, with `local`. Raises
    `ConfigurationError` without the extra, and where no cluster answers.
    """
    try:
        import ray  # noqa: PLC0415  an extra
    except ImportError as error:
        raise ConfigurationError("a comparison on Ray needs it; run: pip install 'backscroll[ray]'") from error
    try:
        _start(ray, address, processes)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigurationError(f"Ray at {address} cannot be used: {error}") from error
    try:
        yield from _done(ray, jobs)
    finally:
        ray.shutdown()


def _start(ray: Any, address: str, processes: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers of every start
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
                sent.clear()  # jobs come transcript by transcript; what runs still holds its own
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
    except ray.exceptions.RayError as error:  # its process or its machine is gone
        return at, failed(jobs[at], f"lost on Ray: {str(error).strip().splitlines()[0]}")
    return at, row
