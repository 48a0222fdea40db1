"""A power cut while large messages are offloaded: no record that was acknowledged points to a blob that is not there.

See `test_power.py` for how it is cut.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time

import pytest

from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.sqlite import SqliteStore
from tests.stores.programs import mixed
from tests.stores.running import FAULTS, start
from tests.stores.test_power import mounted

CUTS = min(FAULTS, 40)

pytestmark = pytest.mark.skipif(not FAULTS or os.geteuid() != 0, reason="mounts a file system: BACKSCROLL_FAULTS=1000")


def cut(folder, seconds):
    """How many records were acknowledged before the cut, and a copy of the disk at that moment."""
    image, copy = folder / "disk", folder / "copy"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(48_000_000)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    with mounted(image, folder / "mounted") as disk:
        process = start("offload_for_ever", disk)
        process.stdin.close()
        assert process.stdout.readline() == "1\n"
        time.sleep(seconds)
        process.send_signal(signal.SIGSTOP)
        shutil.copyfile(image, copy)
        process.kill()
        process.wait()
        lines = process.stdout.read().splitlines(keepends=True)
        process.stdout.close()
        process.stderr.close()
    return max([1, *(int(line) for line in lines if line.endswith("\n"))]), copy


def test_what_was_acknowledged_has_its_blob_after_a_power_cut(tmp_path):
    chance, written = random.Random(5), 0
    for _ in range(CUTS):
        acknowledged, copy = cut(tmp_path, 0.3 * chance.random())
        with mounted(copy, tmp_path / "after") as disk, contextlib.ExitStack() as stack:
            store = OffloadingStore(SqliteStore(disk / "a.db"), FolderBlobs(disk / "blobs"), 100)
            stack.callback(store.close)  # also where the test fails: the disk could not be unmounted
            records = [each.record for each in store.read("a")]
            assert len(records) >= acknowledged
            assert records == [mixed(at) for at in range(len(records))]
            orphans = store.collect(older_than_seconds=0)
            assert orphans <= 3
        written += acknowledged
    assert written > 3 * CUTS
