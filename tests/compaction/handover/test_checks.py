"""Which checks the state names: those whose outcome still says something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compaction.handover.hand_over import Talk, chronicle_of, grown, state_of

PASSED, FAILED = "===== 4 passed in 0.31s =====", "===== 1 failed, 3 passed in 0.31s ====="


def checks(talk):
    return [line for line in state_of(grown(talk.groups)) if line.startswith("Check")]


def ran(*runs):
    talk = Talk()
    talk.say("user", "Make it pass.")
    for command, result in runs:
        talk.shell(command, result)
    return talk


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("pytest tests/shop", "pytest"),
        ("pytest tests/shop/test_pay.py::test_twice", "pytest tests/shop"),
        ("pytest -k twice", "make test"),
        ("python -m pytest tests/shop", "make test"),
        ("npm run lint", "npx eslint && npm run lint"),
        ("go test ./shop/... -run TestPay", "go test ./..."),
        ("go build ./...", "go test ./..."),
        ("go vet ./...", "make lint"),
    ],
)
def test_a_failure_is_past_once_a_check_of_all_passed(failed, passed):
    assert not any("FAILED" in line for line in checks(ran((failed, FAILED), (passed, PASSED))))


@pytest.mark.parametrize(
    ("failed", "passed"),
    [
        ("pytest tests/shop", "pytest tests/mail"),
        ("pytest", "pytest tests/mail"),
        ("pytest tests/shop", "pytest -k mail"),
        ("npm run test", "npm run test:unit"),
        ("tsc --noEmit", "eslint src"),
        ("npm run lint", "npm run format"),
    ],
)
def test_a_failure_stays_where_another_check_passed(failed, passed):
    found = checks(ran((failed, FAILED), (passed, PASSED)))
    assert f"Check `{failed}` -> FAILED: 1 failed, 3 passed in 0.31s" in found


def test_a_failure_names_a_later_check_of_all_that_passed():
    found = checks(ran(("tsc --noEmit", "src/a.ts(3,1): error TS2339: x"), ("npm test", PASSED)))
    assert found[0].endswith("error TS2339: x; later `npm test` passed")


def test_kinds_that_failed_together_are_past_once_each_passed():
    talk = ran(("make fmt && make lint", "1 issue:\nERROR task failed"), ("make fmt", "ok"), ("make lint", "0 issues."))
    assert not any("FAILED" in line for line in checks(talk))


def test_a_newer_failure_of_less_is_named_with_the_pass_of_all():
    found = checks(ran(("pytest", PASSED), ("pytest tests/shop", FAILED)))
    assert [("FAILED" in line) for line in found] == [False, True]


def test_a_check_before_a_commit_and_edits_is_past():
    talk = ran(("pytest tests/shop", PASSED), ('git commit -am "One"', "[main 3f2a1bc] One\n 1 file changed"))
    assert len(checks(talk)) == 1
    talk.edit("/srv/shop/pay.py", "x", "y")
    assert checks(talk) == []


def test_a_formatter_is_no_check_behind_edits():
    talk = ran(("ruff format --write src", "5 files reformatted"), ("mypy src", "Success: no issues found"))
    talk.edit("/srv/shop/pay.py", "x", "y")
    assert [line.split("`")[1] for line in checks(talk)] == ["mypy src"]


@pytest.mark.parametrize(
    "result",
    [
        "(eval):cd:1: no such file or directory: shop",
        "bash: pytests: command not found",
        "error: missing script: tests",
    ],
)
def test_a_check_that_did_not_run_says_nothing(result):
    assert checks(ran(("cd shop && pytest tests", f"Exit code 1\n{result}"))) == []


def test_edits_that_were_taken_back_came_behind_the_check_too():
    talk = ran(("pytest", PASSED))
    talk.edit("/srv/shop/pay.py", "x", "y")
    talk.edit("/srv/shop/pay.py", "y", "x")
    assert checks(talk) == ["Check `pytest` -> 4 passed in 0.31s; edited since: shop/pay.py"]


RUNS = st.lists(
    st.tuples(st.sampled_from(("pytest", "pytest tests/a", "pytest tests/b", "pytest tests/a/c", "make test")),
              st.booleans()), max_size=8)  # fmt: skip  # one list


@given(RUNS)
def test_no_failure_is_open_whose_check_passed_later(runs):
    wholes = ("pytest", "make test")
    found = "\n".join(checks(ran(*((command, PASSED if passed else FAILED) for command, passed in runs))))
    for number, (command, passed) in enumerate(runs):
        later = runs[number + 1 :]
        again = any(each == command for each, _ in later)
        repaired = any(
            ok and (each in wholes or each == command or command.startswith(f"{each}/")) for each, ok in later
        )
        if not passed and not again:
            assert (f"Check `{command}` -> FAILED" in found) is not repaired


def test_a_check_that_did_not_run_is_left_out_before_the_next():
    failed = ("cd shop && pytest tests/pay", "ERROR: file or directory not found: tests/pay")
    both = chronicle_of(grown(ran(failed, ("pytest shop/tests/pay", PASSED)).groups))
    assert "not found" not in both
    assert "pytest shop/tests/pay` -> 4 passed" in both
    assert "not found" in chronicle_of(grown(ran(failed).groups)), "the last one says why there is no outcome"
