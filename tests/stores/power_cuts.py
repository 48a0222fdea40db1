"""A file system in a file, and a copy of it at a random moment: what a disk holds after a power cut."""

import contextlib
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.stores.running import start


@contextlib.contextmanager
def mounted(image: Path, at: Path) -> Any:
    at.mkdir(exist_ok=True)
    subprocess.run(["mount", "-o", "loop", image, at], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", at], check=True)


def cut(folder: Path, seconds: float, begun: str, program: str, place: Any) -> Any:
    """What a program told before the cut, line by line, and a copy of the disk at that moment. It works at a place on
    the disk, and tells first that it has begun.
    """
    image, copy = folder / "disk", folder / "copy"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(48_000_000)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    with mounted(image, folder / "mounted") as disk:
        process = start(program, place(disk))
        process.stdin.close()
        assert process.stdout.readline() == begun
        time.sleep(seconds)
        process.send_signal(signal.SIGSTOP)
        shutil.copyfile(image, copy)
        process.kill()
        process.wait()
        lines = process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.stderr.close()
    return [line for line in lines if line.endswith("\n")], copy
