"""Which files the state names as changed, once git, the shell or the agent took changes back or moved them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compaction.handover.hand_over import Talk, grown, state_of, text_of


def changes(talk, before=None, since=0):
    digest = grown(talk.groups[since:], before) if before else grown(talk.groups)
    return [line for line in state_of(digest) if line.startswith("Changed")]


def edited(*paths):
    talk = Talk()
    talk.say("user", "Improve the shop.")
    for path in paths:
        talk.edit(path, "slow = 1", "fast = 2")
    return talk


BOTH = ("/srv/shop/cart.py", "/srv/shop/pay.py")


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- /srv/shop/cart.py",
        "git checkout HEAD -- shop/cart.py",
        "git restore cart.py",
        "cd /srv/shop && git restore cart.py",
        "git -C /srv/shop checkout -- cart.py",
        "cd /srv && git checkout -- shop/cart.py && echo done",
    ],
)
def test_a_restored_file_is_not_changed(command):
    talk = edited(*BOTH)
    talk.shell(command)
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/pay.py"]
    assert "cart.py edited, and its changes were taken back" in text_of(grown(talk.groups))


@pytest.mark.parametrize("command", ["git restore --staged cart.py", "git checkout main", "git restore other.py"])
def test_what_keeps_changes_restores_nothing(command):
    talk = edited(*BOTH)
    talk.shell(command)
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py, /srv/shop/pay.py"]


@pytest.mark.parametrize("command", ["git reset --hard", "git reset --hard HEAD", "git checkout -- .", "git restore ."])
def test_a_reset_takes_back_all_changes(command):
    talk = edited(*BOTH)
    talk.shell(command, "HEAD is now at 3f2a1bc One")
    assert changes(talk) == []
    talk.edit("/srv/shop/cart.py", "slow = 1", "fast = 3")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_a_reset_that_failed_takes_back_nothing():
    talk = edited("/srv/shop/cart.py")
    talk.shell("git reset --hard abc", "fatal: ambiguous argument 'abc': unknown revision")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_a_stash_is_named_until_it_comes_back():
    talk = edited("/srv/shop/cart.py")
    talk.shell("git stash", "Saved working directory and index state WIP on main: 3f2a1bc One")
    assert changes(talk) == ["Changed, and put into the stash of git: /srv/shop/cart.py"]
    talk.shell("git stash pop", "On branch main")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_an_edit_that_takes_back_another_leaves_no_change():
    talk = edited(*BOTH)
    talk.edit("/srv/shop/cart.py", "fast = 2", "slow = 1")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/pay.py"]


def test_an_edit_back_behind_a_commit_is_a_change():
    talk = edited("/srv/shop/cart.py")
    talk.shell('git commit -am "Faster"', "[main 3f2a1bc] Faster\n 1 file changed")
    talk.edit("/srv/shop/cart.py", "fast = 2", "slow = 1")
    assert changes(talk) == ["Changed since the commit 3f2a1bc “Faster”: /srv/shop/cart.py"]


def test_a_file_that_was_made_and_removed_is_gone():
    talk = edited("/srv/shop/pay.py")
    talk.call("Write", {"file_path": "/srv/shop/trial/probe.py", "content": "print(1)\n"}, "File created successfully")
    talk.shell("rm -rf /srv/shop/trial")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/pay.py"]
    assert "probe" not in "\n".join(state_of(grown(talk.groups)))


def test_a_file_that_was_removed_is_a_change():
    talk = edited("/srv/shop/pay.py")
    talk.shell("rm /srv/shop/old.py")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/pay.py, /srv/shop/old.py"]


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("mkdir -p docs/guides && mv docs/cart.md docs/guides/", "/srv/shop/docs/guides/cart.md"),
        ("git mv docs/cart.md docs/basket.md", "/srv/shop/docs/basket.md"),
        ("mv docs manual", "/srv/shop/manual/cart.md"),
        ("cd /srv/shop/docs && mv cart.md ../cart.md", "/srv/shop/cart.md"),
    ],
)
def test_a_moved_file_is_named_where_it_is(command, path):
    talk = Talk()
    talk.say("user", "Write the guide.")
    talk.call("Write", {"file_path": "/srv/shop/docs/cart.md", "content": "# Cart\n"}, "File created successfully")
    talk.shell(command)
    assert changes(talk) == [f"Changed, and no commit seen: {path}"]


SCRATCH = 'git init && echo a > a.txt && git add a.txt && git commit -m "trial"'


@pytest.mark.parametrize(
    "command", [f"cd /tmp/trial && {SCRATCH}", f"cd /tmp && mkdir t && cd t && {SCRATCH}", f"cd trial && {SCRATCH}"]
)
def test_a_commit_in_a_scratch_folder_is_no_base(command):
    talk = edited("/srv/shop/cart.py")
    talk.shell('git commit -am "Faster"', "[main 3f2a1bc] Faster\n 1 file changed")
    talk.edit("/srv/shop/pay.py", "a", "b")
    talk.shell(command, "Initialized empty Git repository\n[main (root-commit) 5aaffb1] trial\n 1 file changed")
    assert changes(talk) == ["Changed since the commit 3f2a1bc “Faster”: /srv/shop/pay.py"]


def test_each_repository_has_its_own_commits():
    talk = edited("/srv/shop/cart.py", "/srv/notes/log.md")
    arguments = {"cmd": 'git commit -am "Notes"', "workdir": "/srv/notes"}
    talk.call("exec_command", arguments, "[main 77aa001] Notes\n 1 file changed")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_files_that_git_status_does_not_list_are_not_open():
    talk = edited(*BOTH)
    talk.shell("git status --short", " M pay.py\n?? notes/")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/pay.py"]
    talk.shell("git status", "On branch main\nnothing to commit, working tree clean")
    assert changes(talk) == []


def test_a_list_that_may_be_cut_says_nothing():
    talk = edited(*BOTH)
    talk.shell("git status --short | head -5", " M pay.py\n?? notes/\n?? a\n?? b\n?? c")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py, /srv/shop/pay.py"]


@pytest.mark.parametrize("command", ["cd ../other && git status", "git status docs", "git status && ls"])
def test_a_status_of_another_place_says_nothing(command):
    talk = edited(*BOTH)
    talk.shell(command, "On branch main\nnothing to commit, working tree clean")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py, /srv/shop/pay.py"]


def edited_behind_a_log() -> Talk:
    """A session that saw the newest commit, and then edited a file."""
    talk = Talk()
    talk.say("user", "Review this branch.")
    talk.shell("git log --oneline -3", "aaaa111 Start\nbbbb222 Before")
    talk.edit("/srv/shop/cart.py", "slow = 1", "fast = 2")
    return talk


def test_a_commit_of_somebody_else_may_hold_changes():
    talk = edited_behind_a_log()
    talk.say("user", "I have committed it.")
    talk.shell("git log --oneline -3", "cccc333 Faster cart\naaaa111 Start")
    talk.edit("/srv/shop/pay.py", "slow = 1", "fast = 2")
    assert changes(talk) == [
        "Changed since the commit cccc333 “Faster cart”: /srv/shop/pay.py",
        "Changed before `git log` showed cccc333 “Faster cart”, which the agent did not make and which may hold it: "
        "/srv/shop/cart.py",
    ]


def test_another_branch_is_no_commit_of_somebody_else():
    talk = edited_behind_a_log()
    talk.shell("git checkout main", "Switched to branch 'main'")
    talk.shell("git log --oneline -3", "cccc333 Other\naaaa111 Start")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_a_step_behind_a_missing_folder_changes_nothing():
    talk = edited("/srv/shop/cart.py")
    talk.shell(
        "cd cart && sed -i s/a/b/ one.py && sed -i s/b/c/ two.py", "(eval):cd:1: no such file or directory: cart"
    )
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]


def test_paths_of_one_file_are_one():
    talk = edited("/srv/shop/src/cart.py")
    talk.shell("sed -i s/a/b/ src/cart.py")
    talk.shell("cd /srv/shop/src && sed -i s/a/b/ cart.py")
    assert text_of(grown(talk.groups)).count("cart.py edited x3") == 1


ACTS = st.lists(
    st.tuples(
        st.sampled_from(("edit", "back", "restore", "reset", "commit", "stash", "pop")),
        st.sampled_from(BOTH),
        st.integers(0, 2),
    ),
    max_size=14,
)


@given(ACTS, st.integers(0, 14))
def test_the_state_names_what_differs_from_the_commit(acts, cut):
    """Against a tree of files with a commit and a stash, however the acts are folded."""
    tree = committed = dict.fromkeys(BOTH, "0")
    stash: dict[str, str] | None = None
    talk = Talk()
    talk.say("user", "Improve the shop.")
    for number, (act, path, choice) in enumerate(acts):
        if act == "edit":
            new = f"{number}.{choice}"
            talk.edit(path, f"value {tree[path]}", f"value {new}")
            tree = {**tree, path: new}
        elif act == "back" and tree[path] != committed[path]:
            talk.edit(path, f"value {tree[path]}", f"value {committed[path]}")
            tree = {**tree, path: committed[path]}
        elif act == "restore":
            talk.shell(f"git checkout -- {path}")
            tree = {**tree, path: committed[path]}
        elif act == "reset":
            talk.shell("git reset --hard", "HEAD is now at 3f2a1bc One")
            tree = committed
        elif act == "commit" and tree != committed:
            talk.shell('git commit -am "Next"', f"[main 3f2a1b{number:x}] Next\n 1 file changed")
            committed = tree
        elif act == "stash" and stash is None and tree != committed:
            talk.shell("git stash", "Saved working directory and index state")
            stash, tree = {p: t for p, t in tree.items() if t != committed[p]}, committed
        elif act == "pop" and stash is not None and tree == committed:
            talk.shell("git stash pop", "On branch main")
            tree, stash = {**tree, **stash}, None
    first = grown(talk.groups[: cut + 1], kept=talk.groups[cut + 1 :])
    digest = grown(talk.groups[cut + 1 :], first) if talk.groups[cut + 1 :] else first
    for each in (first, digest):
        named = "\n".join(line for line in state_of(each) if line.startswith("Changed") and "stash" not in line)
        for path in BOTH:
            if tree[path] == committed[path]:
                assert path not in named
            else:
                assert path in named


def test_a_file_that_is_read_behind_its_commit_is_committed():
    talk = edited("/srv/shop/cart.py")
    talk.shell('git commit -am "Faster"', "[main 3f2a1bc] Faster\n 1 file changed")
    talk.read("/srv/shop/cart.py", "fast = 2")
    assert changes(talk) == []
    settled = "Newest commit: 3f2a1bc “Faster”; no change of a file seen since"
    assert settled in state_of(grown(talk.groups))


def test_a_commit_that_failed_holds_nothing():
    talk = edited("/srv/shop/cart.py")
    talk.shell('git commit -am "Faster"', "Exit code 1\nerror: pathspec 'x' did not match")
    assert changes(talk) == ["Changed, and no commit seen: /srv/shop/cart.py"]
