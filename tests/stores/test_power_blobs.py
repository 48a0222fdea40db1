"""A power cut while large messages are offloaded: no record that was acknowledged points to a blob that is not there.

See `power_cuts.py` for how it is cut.
"""

import contextlib
import os
import random

import pytest

from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.sqlite import SqliteStore
from tests.stores.power_cuts import cut, mounted
from tests.stores.programs import mixed
from tests.stores.running import FAULTS

CUTS = min(FAULTS, 40)

pytestmark = pytest.mark.skipif(not FAULTS or os.geteuid() != 0, reason="mounts a file system: BACKSCROLL_FAULTS=1000")


def test_what_was_acknowledged_has_its_blob_after_a_power_cut(tmp_path):
    chance, written = random.Random(5), 0
    for _ in range(CUTS):
        lines, copy = cut(tmp_path, 0.3 * chance.random(), "1\n", "offload_for_ever", str)
        acknowledged = max([1, *map(int, lines)])
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
