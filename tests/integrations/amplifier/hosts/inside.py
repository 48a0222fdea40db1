"""The process of a journey: makes its folders, runs it, writes its report, and ends without the interpreter's exit."""

import asyncio
import importlib
import json
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

Journey = Callable[[str, Path], Coroutine[Any, Any, dict[str, Any]]]


def main(what: str, kinds: str, folder: str) -> None:
    """Runs `journeys.<module>.<function>`, or all that the module has in `TOGETHER`, in each kind of keeping."""
    logging.disable(logging.CRITICAL)  # hosts log much, and what went wrong is in the report
    warnings.simplefilter("ignore", DeprecationWarning)
    name, _, function = what.partition(".")
    module = importlib.import_module(f"tests.integrations.amplifier.hosts.journeys.{name}")
    journeys: tuple[Journey, ...] = (getattr(module, function),) if function else module.TOGETHER
    place = Path(folder)
    found = {
        f"{name}.{journey.__name__} {kind}": play(journey, kind, place / f"{journey.__name__}-{kind}")
        for journey in journeys
        for kind in kinds.split(",")
    }
    (place / "report.json").write_text(json.dumps(found, default=repr), encoding="utf-8")


def play(journey: Journey, kind: str, place: Path) -> dict[str, Any]:
    """Runs one with a home and a project folder of its own; what it raises is its report."""
    for name in ("home", "project"):
        (place / name).mkdir(exist_ok=True, parents=True)
    os.environ["HOME"] = str(place / "home")
    os.environ["AMPLIFIER_HOME"] = str(place / "home" / ".amplifier")
    os.chdir(place / "project")
    try:
        return asyncio.run(journey(kind, place))
    except Exception:
        return {"failed": traceback.format_exc()}


if __name__ == "__main__":
    status = 0
    try:
        main(*sys.argv[1:])
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stderr.flush()
    os._exit(status)
