"""What tests of damage share: what is written, how it is altered, and whether that is noticed."""

import random
import subprocess
import sys

from backscroll import BackscrollError
from tests.stores.programs import record
from tests.stores.running import ROOT

LARGEST = 2_500

WRITING = """
import os, sys
from backscroll.stores.addresses import open_store
from tests.stores.programs import record
address, session, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = open_store(address)
for at in range(first, last):
    store.append(session, at, [record(session, at, 2_500)]).result()
os._exit(0)
"""


def write(address, session, first, last):
    """Appends one by one in a process that ends in the middle."""
    line = [sys.executable, "-c", WRITING, str(address), session, str(first), str(last)]
    subprocess.run(line, cwd=ROOT, check=True, timeout=60)


def everything(store, ends):
    """Whether all is there and as it was. Raises what the store finds."""
    same = store.sessions() == list(ends)
    for session, end in ends.items():
        records = [stored.record for stored in store.read(session)]
        same = same and store.length(session) == end
        same = same and records == [record(session, at, LARGEST) for at in range(end)]
    return same


def noticed(store, ends):
    """Whether damage is noticed; False where none can be seen. Fails for damage that is not noticed."""
    try:
        same = everything(store, ends)
    except BackscrollError:
        return True
    assert same, "something else was handed out than what was written"
    return False


def flips(content, number, seed):
    """Contents with one byte altered, and which one."""
    chance = random.Random(seed)
    for _ in range(number):
        place, bit = chance.randrange(len(content)), chance.randrange(1, 256)
        yield content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :], place
