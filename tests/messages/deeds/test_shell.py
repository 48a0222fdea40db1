"""Commands of a shell: their steps, which of them only read, and what the others did."""

import pytest

from backscroll.messages.deeds.reading import bare, step_reads, written_file
from backscroll.messages.deeds.shell import steps_of
from tests.messages.deeds.calls import deeds, shell


def texts(command: str) -> list[str]:
    return [step.text for step in steps_of(command)]


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("a && b || c; d\ne & f", ["a", "b", "c", "d", "e", "f"]),
        ("echo 'a && b' \"c; d\" $(e; f) `g; h`", ["echo 'a && b' \"c; d\" $(e; f) `g; h`"]),
        (r"echo $'it\'s; so' && b", [r"echo $'it\'s; so'", "b"]),
        ("a | b |& c", ["a | b | c"]),
        ("a 2>&1 | tail -5", ["a"]),
        ("a > out 2>/dev/null && b &> log", ["a > out", "b &> log"]),
        ("# a comment; b\nc # another", ["c"]),
        ("for f in *; do if ! a; then b; fi; done", ["for f in *", "a", "b", "fi", "done"]),
        ("(cd x && a; (b)) && c", ["cd x", "a", "b", "c"]),
        ("cat <<'EOF' > f && a\nx && y\nEOF\nb", ["cat <<… > f", "a", "b"]),
        ("cat <<EOF\nno end; of it", ["cat <<…"]),
        ("echo $((1 << 3)); b", ["echo $((1 << 3))", "b"]),
        ("git commit -m \"$(cat <<'EOF'\nA; b\nEOF\n)\" && c", ['git commit -m "$(cat <<… )"', "c"]),
        ("a \\\n  --b && c", ["a \\ --b", "c"]),
        ("", []),
    ],
)
def test_command_is_split_into_steps(command, steps):
    assert texts(command) == steps


def test_here_documents_belong_to_their_steps():
    first, second = steps_of("cat > a <<'A'\nx && y\nA\ncat > b <<-B\n\tz\n\tB\n")
    assert (first.documents, second.documents) == (("x && y",), ("\tz",))


def test_last_step_of_a_line_may_go_on_in_the_background():
    assert [step.background for step in steps_of("a & b &\nc")] == [True, True, False]


@pytest.mark.parametrize(
    ("program", "rest"),
    [
        ("CI=1 FORCE_COLOR='0' timeout 60 uv run --with x pytest -q", "pytest -q"),
        ("sudo -E nice -n 5 make", "make"),
        ("poetry run mypy", "mypy"),
        ("pnpm run lint", "pnpm run lint"),
        ("npx -y vitest", "vitest"),
        ("env", "env"),
    ],
)
def test_wrappers_are_taken_off(program, rest):
    assert bare(program).strip() == rest or (rest == "env" and bare(program) == "")


READS = r"""
cat a | grep b | sort -u | head
sed -n '1,9p' a
find . -name '*.py' -exec grep -l x {} +
git -C x --no-pager diff HEAD~1 -- a
git branch -a --list 'x*'
git branch --contains 1a2b
git config --get user.name
git stash list
git remote -v
gh pr view 3 --json title
gh run list
gh api repos/a/b/pulls
gh api graphql -f query='query { viewer { login } }'
kubectl get pods -A
docker ps -a
npm view react version
cargo tree
curl -s https://x.org
psql -c "select 1"
python3 -c "import a; print(a.b)"
node -p "require.resolve('a')"
bun pm ls
python3 - <<'E'\nprint(1)\nE
X=$(git rev-parse HEAD)
export A=1
xargs -I{} grep x {}
sh -c 'cat a; ls'
terraform plan
aws s3api list-buckets
tool --help
deploy.sh --dry-run
[ -f a ] && test -d b
tmux list-windows
echo hello
""".strip().split("\n")
ACTS = """
sed -i '' 's/a/b/' c
find . -name x -delete
git branch -d x
git branch new
git tag v1
git config user.name x
git stash pop
git fetch-nothing
git remote set-url origin x
gh pr create --title a
gh api -X POST repos/a
gh api graphql -f query='mutation { x }'
kubectl apply -f a
docker run a ls
npm run view-all
curl -X DELETE https://x.org
curl -d a=b https://x.org
psql -c "delete from a"
python3 run.py
bun run.ts
python3 -c "open('a', 'w').write('x'); print(1)"
X=$(rm a)
echo a > b
cat a >> b
xargs rm
sh -c 'cat a; rm b'
sh install.sh
terraform apply
tool
mkdir a
cat a | tee b | sh
""".strip().split("\n")


@pytest.mark.parametrize("command", READS)
def test_step_that_looks_something_up_reads(command):
    assert all(step_reads(step) for step in steps_of(command.replace("\\n", "\n")))


@pytest.mark.parametrize("command", ACTS)
def test_step_that_changes_something_does_not_read(command):
    assert not all(step_reads(step) for step in steps_of(command))


@pytest.mark.parametrize(
    ("stage", "file"),
    [("echo a > b.txt", "b.txt"), ("echo a >> 'b c'", ""), ("a 2> b", ""), ("a > /dev/null", ""), ("a '> b'", ""),
     ("a -> b", ""), ("a >&2", ""), ('cat > "$X/b"', "$X/b")],
)  # fmt: skip  # a table
def test_redirected_file_is_found(stage, file):
    assert written_file(stage) == file


@pytest.mark.parametrize(
    ("command", "edits"),
    [
        ("echo 'A=1' >> .env", [("edited", ".env", "")]),
        ("tee -a a.txt <<'E'\nx\nE", [("edited", "a.txt", "x")]),
        ("cat <<'E' | sudo tee /etc/a.conf\nx\nE", [("created", "/etc/a.conf", "x")]),
        ("sed -i.bak -e 's/a/b/' 'a b/c.py'", [("edited", "a b/c.py", "")]),
        ("rm -f a.py b.py", [("deleted", "a.py", ""), ("deleted", "b.py", "")]),
        ("apply_patch <<'P'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nP", [("created", "a.py", "x")]),
    ],
)
def test_steps_that_write_files_are_edits(command, edits):
    assert [(each.what, each.path, each.text) for each in shell(command) if each.kind == "edit"] == edits


@pytest.mark.parametrize(
    "command", ["rm -rf build", "rm *.py", "sed -i 's/a/b/' $F", "make all | tee build.log", "cat > $T <<E\nx\nE"]
)
def test_steps_without_a_named_file_are_runs(command):
    assert [each.kind for each in shell(command)] == ["run"]


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("CI=1 npx vitest run --color 'a b' 2>&1 | tail", "vitest run"),
        ("cd a && go test -v -count=1 ./...", "go test ./..."),
        ("./gradlew assembleDebug", "./gradlew assembleDebug"),
        ("python -m pytest -q", "python -m pytest"),
        ("bash scripts/run_tests.sh", "bash scripts/run_tests.sh"),
        ("docker build .", "docker build ."),
        ("cargo fmt --check", "cargo fmt --check"),
        ("make lint", "make lint"),
    ],
)
def test_checks_have_a_key_without_what_varies(command, key):
    (check,) = shell(command, "ok")
    assert (check.kind, check.key) == ("check", key)


@pytest.mark.parametrize(
    "command", ["npm ci", "pip install pytest", "python train.py", "docker run test", "go run ./a"]
)
def test_commands_that_check_nothing(command):
    assert [each.kind for each in shell(command, "ok")] == ["run"]


def test_checks_of_one_command_that_pass_are_deeds_of_their_own():
    lint, test = shell("npm run lint && npm test", "Tests: 3 passed")
    assert [(each.key, each.outcome, each.failed) for each in (lint, test)] == [
        ("npm run lint", "passed", False), ("npm test", "Tests: 3 passed", False),
    ]  # fmt: skip  # a table
    (both,) = shell("npm run lint && npm test", "Exit code 1\n2 errors")
    assert (both.key, both.failed) == ("npm run lint && npm test", True)


def test_runs_in_a_row_are_one_deed_and_their_end_is_the_outcome():
    run, push = shell("mkdir a && mv b a && git push", "fatal: no such remote")
    assert (run.what, run.outcome, run.failed) == ("mkdir a && mv b a", "", False)
    assert (push.failed, push.outcome) == (True, "fatal: no such remote")
    assert shell("mkdir a && ls", "total 0")[0].outcome == ""


def test_request_that_a_command_makes_is_its_outcome():
    (run,) = shell("gh pr create --title a", "Creating pull request\nhttps://git.example.org/a/b/pull/7")
    assert run.outcome == "https://git.example.org/a/b/pull/7"


def test_many_steps_are_bounded():
    found = shell("; ".join(f"git push o{number} && rm -r d{number}" for number in range(500)), "ok")
    assert len(found) <= 14
    assert len(found[-1].what) <= 300


@pytest.mark.parametrize("command", ["npm run dev &", "nohup ./serve.sh > log 2>&1 &"])
def test_command_that_ends_with_an_ampersand_goes_on(command):
    (start,) = shell(command, "")
    assert (start.kind, start.outcome) == ("background", "running")


def test_look_up_says_what_it_looked_up():
    (look_up,) = shell("cd a && echo '---' && git log -3", "1a2b Round")
    assert (look_up.kind, look_up.what, look_up.text) == ("search", "git log -3", "1a2b Round")
    (page,) = shell("nl -ba src/a.py | sed -n '1,9p'", "     1\tx = 1")
    assert (page.kind, page.path, page.text) == ("read", "src/a.py", "x = 1")
    (missing,) = shell("cat a.py", "cat: a.py: No such file or directory")
    assert (missing.kind, missing.failed, missing.text) == ("read", True, "")
    (nothing,) = shell("grep -r x src", "Exit code 1\n")
    assert (nothing.failed, nothing.outcome) == (False, "nothing found")
    (broken,) = shell("grep -r '[' src", "Exit code 2\ngrep: Unmatched [")
    assert (broken.failed, broken.outcome) == (True, "grep: Unmatched [")


def test_unknown_program_that_prints_json_is_a_look_up():
    assert shell("tickets ready --json", '[{"id": 1}]')[0].kind == "search"
    assert shell("tickets create --json", '[{"id": 1}]')[0].kind == "run"
    assert shell("./tickets --json", '[{"id": 1}]')[0].kind == "run"


def test_commands_are_read_from_lists_and_other_names():
    assert deeds("shell", {"command": ["bash", "-lc", "git push"]}, "")[0].kind == "push"
    assert deeds("shell", {"command": ["git", "commit", "-m", "a b"]}, "")[0].what == "a b"
    assert deeds("shell_call", {"commands": ["npm test", "git push"]}, "")[1].kind == "push"
    assert deeds("local_shell_call", {"action": {"type": "exec", "command": ["git", "push"]}}, "")[0].kind == "push"
    assert deeds("run_command", {"CommandLine": "npm test"}, "")[0].kind == "check"
