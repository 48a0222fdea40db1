"""Where the steps of a command ran, and files that they moved or put back."""

import pytest

from tests.messages.deeds.calls import deed, shell


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("make deploy", ""),
        ("cd /srv/shop && make deploy", "/srv/shop"),
        ("cd /srv && cd shop && make deploy", "/srv/shop"),
        ("cd /srv/shop/docs && cd .. && make deploy", "/srv/shop"),
        ("cd shop && make deploy", "shop"),
        ('cd "$dir" && make deploy', "$dir"),
        ("git -C /srv/shop push", "/srv/shop"),
    ],
)
def test_a_step_knows_its_folder(command, folder):
    assert shell(command)[0].folder == folder


def test_a_call_may_name_the_folder():
    found = deed("exec_command", {"cmd": "sed -i s/a/b/ src/pay.py", "workdir": "/srv/shop"})
    assert (found.folder, found.path) == ("/srv/shop", "/srv/shop/src/pay.py")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd /srv && sed -i s/a/b/ pay.py", [("edited", "/srv/pay.py", "")]),
        ("mv a.py b.py", [("moved", "b.py", "a.py")]),
        ("mv a.py b.py lib/", [("moved", "lib/a.py", "a.py"), ("moved", "lib/b.py", "b.py")]),
        ("cd /srv && git mv a.py lib", [("moved", "/srv/lib/a.py", "/srv/a.py")]),
        ("git checkout -- a.py 'b c.py'", [("restored", "a.py", ""), ("restored", "b c.py", "")]),
        ("git checkout main -- a.py", [("restored", "a.py", "")]),
        ("git restore --source=HEAD~1 a.py", [("restored", "a.py", "")]),
        ("cd /srv && git restore .", [("restored", "/srv", "")]),
    ],
)
def test_files_are_moved_and_put_back(command, expected):
    assert [(each.what, each.path, each.key) for each in shell(command)] == expected


@pytest.mark.parametrize("command", ["mv docs manual", "git restore --staged a.py", "git checkout main", "mv *.py lib"])
def test_other_commands_move_and_restore_no_file(command):
    assert [each.kind for each in shell(command)] == ["run"]


def test_all_fails_behind_a_missing_folder():
    found = shell("cd lib && sed -i s/a/b/ a.py && make deploy", "bash: cd: lib: No such file or directory")
    assert [each.failed for each in found] == [True, True]


def test_an_edit_knows_what_it_replaced():
    found = deed("Edit", {"file_path": "/a.py", "old_string": "x = 1", "new_string": "x = 2"})
    assert (found.before, found.text) == ("x = 1", "x = 2")
