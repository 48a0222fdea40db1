"""A power cut: what the disk holds at a random moment, and nothing that was on its way there.

A file system in a file is mounted, and the file is copied while a program writes to it. What the kernel has not been
told to sync is not in the copy. This needs the rights to mount, so it runs only where `BACKSCROLL_FAULTS` asks for it.
"""

import os
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from backscroll import CorruptionError
from backscroll.stores.addresses import open_store
from tests.stores.power_cuts import cut, mounted
from tests.stores.programs import differs
from tests.stores.running import FAULTS, KINDS, address_of

CUTS = min(FAULTS, 60)

pytestmark = pytest.mark.skipif(not FAULTS or os.geteuid() != 0, reason="mounts a file system: BACKSCROLL_FAULTS=1000")


def survived(folder: Path, kind: str, durability: str):
    """For each cut: records that were acknowledged, those of them that are gone, and whether the store said so."""
    chance, more = random.Random(durability), f"?durability={durability}"
    for _ in range(CUTS):
        lines, copy = cut(folder, 0.3 * chance.random(), '"begun"\n', "written", partial(address_of, kind, more=more))
        ends = {line.split()[0]: int(line.split()[1]) for line in lines}
        with mounted(copy, folder / "after") as disk:
            store: Any
            store, said = open_store(address_of(kind, disk, more=more)), False
            try:
                store.sessions()
            except CorruptionError:
                said = store.accept_loss() > 0
            gone = sum(max(end - store.length(session), 0) for session, end in ends.items())
            assert not any(differs(store, session) for session in store.sessions())
            assert [problem for problem in store.verify() if not problem.harmless] == []
            store.close()
        yield sum(ends.values()), gone, said


@pytest.mark.parametrize("kind", KINDS)
def test_full_durability_survives_a_power_cut(kind, tmp_path):
    """What was acknowledged at full durability survives a power cut."""
    told = list(survived(tmp_path, kind, "full"))
    assert sum(written for written, _, _ in told) > CUTS
    assert [(gone, said) for _, gone, said in told] == [(0, False)] * CUTS


@pytest.mark.parametrize("kind", KINDS)
def test_a_power_cut_takes_the_end_at_normal_durability(kind, tmp_path):
    """Which also shows that the cut is one."""
    told = list(survived(tmp_path, kind, "normal"))
    assert sum(gone for _, gone, _ in told) > 0
    print(f"{sum(gone > 0 for _, gone, _ in told)} of {CUTS} lost something, {sum(s for _, _, s in told)} said so")
