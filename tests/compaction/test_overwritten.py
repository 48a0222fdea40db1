"""Lines that left a file when a call overwrote it are known from what it was read with before."""

import pytest

from backscroll.compaction.digest.relevance import removed_in
from tests.builders import turn

READ = "12\tlimit = load_limit(3)\n13\timport os\n14\tname = read_name(4)\n"


def found(*calls: tuple[str, dict[str, str], str]) -> dict[str, int]:
    """What calls with these arguments and results overwrite."""
    return removed_in([turn(2 * number, *call) for number, call in enumerate(calls)])


@pytest.mark.parametrize("content", ["content", "contents", "file_text", "new_source"])
def test_lines_that_a_written_file_lacks_are_found_with_the_call(content):
    read, write = ("read", {"path": "a.py"}, READ), ("write", {"path": "a.py", content: "name = read_name(4)\n"}, "ok")
    assert found(read, write) == {"limit = load_limit(3)": 2}


def test_a_later_read_does_not_bring_lines_back_or_take_them_out():
    write = ("write", {"path": "a.py", "content": "name = read_name(4)\n"}, "ok")
    assert found(write, ("read", {"path": "a.py"}, READ)) == {}


def test_other_files_and_calls_without_a_text_remove_nothing():
    read = ("read", {"path": "a.py"}, READ)
    assert found(read, ("write", {"path": "b.py", "content": "x"}, "ok")) == {}
    assert found(read, ("run", {"command": "rm a.py"}, "ok")) == {}


def test_a_file_written_twice_lacks_what_the_first_text_had():
    first, second = ({"path": "a.py", "content": f"limit = load_limit({n})\n"} for n in (3, 5))
    assert found(("write", first, "ok"), ("write", second, "ok")) == {"limit = load_limit(3)": 2}
