"""What a release consists of: one version, two stages of set-up, workflows, and what belongs in a repository."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

import backscroll
from tests.present import present

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = {path.stem: path for path in (ROOT / ".github/workflows").glob("*.yml")}
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


# -- the version --


def test_version_is_in_one_place():
    """`pyproject.toml` has it; the metadata of the installed package, which `__version__` reads, comes from there."""
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:(a|b|rc)\d+)?", PROJECT["version"])
    assert backscroll.__version__ == metadata.version("backscroll") == PROJECT["version"], "run: make"
    literal = re.compile(rf"""["']{re.escape(PROJECT["version"])}["']""")
    assert [path for path in (ROOT / "src").rglob("*.py") if literal.search(path.read_text(encoding="utf-8"))] == []


def test_changelog_begins_with_the_version_or_unreleased():
    """The sections before it are releases with their dates, the newest first."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    dated = r"(\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)"
    top = rf"Unreleased|{re.escape(PROJECT['version'])} \((unreleased|\d{{4}}-\d\d-\d\d)\)"
    assert re.fullmatch(top, headings[0])
    released = [found.groups() for heading in headings[1:] if (found := re.fullmatch(dated, heading))]
    assert len(released) == len(headings) - 1
    assert released == sorted(released, key=lambda each: [int(part) for part in each[0].split(".")], reverse=True)


def test_citation_names_this_version_and_license():
    cited = loaded(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(cited), "the format requires these"
    assert cited["cff-version"] == "1.2.0"
    assert (cited["type"], cited["title"]) == ("software", "Backscroll")
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
    assert cited["authors"] == PROJECT["authors"]


# -- the set-up in two stages --


def locked(name: str) -> dict[str, str]:
    """The packages of a lock file, each with its version and hashes."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)(==.+(?:\n    .+)+)", text, re.MULTILINE))


def test_lock_of_the_demo_is_a_small_part_of_the_other():
    """So that `make test` only adds packages. `make lock` writes both."""
    small, all_of_it = locked("requirements-demo.lock"), locked("requirements-dev.lock")
    assert {name for name in small if small[name] != all_of_it.get(name)} == set(), "run: make lock"
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["cli"], "hatchling"]
    assert {present(re.match(r"[\w-]+", each))[0] for each in asked} <= set(small), "run: make lock"
    assert len(small) < 20 < len(all_of_it)
    assert re.search(r"^\t.*\\\n.*--output-file requirements-demo\.lock$", MAKEFILE, re.MULTILINE)


def planned(target: str, tmp_path: Path) -> str:
    """What make would run where nothing is set up."""
    given = [f"VENV={tmp_path / 'none'}", f"PYTHON={sys.executable}"]
    line = ["make", "--no-print-directory", "--dry-run", target, *given]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


def test_make_demo_installs_only_what_the_demo_needs(tmp_path):
    """The README says that both commands set themselves up."""
    commands = planned("demo", tmp_path)
    assert "install --require-hashes --no-deps --requirement requirements-demo.lock" in commands
    assert "requirements-dev.lock" not in commands
    assert commands.rstrip().endswith("examples/demo.py build/demo")


@pytest.mark.parametrize("target", ["test", "check", "test-long", "test-extras", "bench", "dist"])
def test_make_installs_all_for_all_other_targets(target, tmp_path):
    commands = planned(target, tmp_path)
    locks = re.findall(r"--require-hashes --no-deps --requirement (requirements-\w+\.lock)", commands)
    assert list(dict.fromkeys(locks)) == ["requirements-demo.lock", "requirements-dev.lock"]


# -- workflows, which run elsewhere: here they are data --


def jobs() -> list[tuple[str, str, dict[str, Any]]]:
    return [(name, job, body) for name, path in WORKFLOWS.items() for job, body in loaded(path)["jobs"].items()]


def test_workflows_are_the_two_that_are_meant():
    assert set(WORKFLOWS) == {"ci", "release"}
    assert list(loaded(WORKFLOWS["ci"])[True]) == ["push", "pull_request"]  # YAML reads the key `on` as true
    assert loaded(WORKFLOWS["release"])[True] == {"push": {"tags": ["v*"]}}


def test_workflows_have_the_least_permissions():
    """Only the job that publishes may ask for an identity, and it runs no code of this tree."""
    assert loaded(WORKFLOWS["ci"])["permissions"] == {"contents": "read"}
    assert loaded(WORKFLOWS["release"])["permissions"] == {}
    given = {job: body.get("permissions") for name, job, body in jobs() if name == "release"}
    assert given == {"build": {"contents": "read"}, "test": {"contents": "read"}, "publish": {"id-token": "write"}}
    publish = loaded(WORKFLOWS["release"])["jobs"]["publish"]
    assert publish["environment"] == "release"
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact", "pypa/gh-action-pypi-publish",
    ]  # fmt: skip
    assert publish["steps"][1]["with"] == {"attestations": True}
    assert "secrets." not in WORKFLOWS["release"].read_text(encoding="utf-8"), "the registry trusts the workflow"


def test_release_publishes_the_files_that_were_tested():
    """They are built once; each Python tests them; nothing else is published."""
    found = loaded(WORKFLOWS["release"])["jobs"]
    assert (found["test"]["needs"], found["publish"]["needs"]) == ("build", ["build", "test"])
    uses = {job: [step.get("uses", "").partition("@")[0] for step in body["steps"]] for job, body in found.items()}
    assert [job for job, steps in uses.items() if "actions/upload-artifact" in steps] == ["build"]
    assert [job for job, steps in uses.items() if "actions/download-artifact" in steps] == ["test", "publish"]
    artifacts = [
        step["with"]["name"] for body in found.values() for step in body["steps"] if "artifact" in step.get("uses", "")
    ]
    assert set(artifacts) == {"dist"}
    assert "make dist" in [step.get("run") for step in found["build"]["steps"]]
    assert not any("dist" in step.get("run", "").split() for step in found["test"]["steps"]), "built once"


@pytest.mark.parametrize(("workflow", "job", "body"), jobs(), ids=lambda each: each if isinstance(each, str) else "")
def test_every_step_is_pinned_and_every_command_exists(workflow, job, body):
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert body["timeout-minutes"] <= 90
    for step in body["steps"]:
        if action := step.get("uses"):
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})", action)
            assert not action.startswith("actions/checkout") or step["with"] == {"persist-credentials": False}
        else:
            assert "${{" not in step["run"], "values come in by the environment, so that a name is no command"
            program, *words = step["run"].split()
            assert (program == "make" and words[0] in targets) or (ROOT / program).stat().st_mode & 0o111


def test_workflows_run_every_python_that_is_supported():
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    matrices = [body["strategy"]["matrix"]["python"] for _, _, body in jobs() if "strategy" in body]
    assert len(matrices) == 2
    assert all(matrix == named for matrix in matrices)


# -- what a repository has --


def test_forms_for_issues_ask_for_what_answers_need():
    assert {path.stem for path in FORMS} == {"bug", "config", "question"}
    for path in FORMS:
        form = loaded(path)
        if path.stem == "config":
            assert form == {"blank_issues_enabled": False}
            continue
        assert {"name", "description", "body"} <= set(form)
        assert all(part["type"] in {"markdown", "textarea", "input"} for part in form["body"])
    asked = (ROOT / ".github/ISSUE_TEMPLATE/bug.yml").read_text(encoding="utf-8")
    assert all(
        words in asked
        for words in ("backscroll verify STORE", "backscroll --version", "python --version", "SECURITY.md")
    )


def test_security_page_covers_each_part_that_others_reach():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    parts = re.findall(r"^\| ([A-Z][\w ]+?)(?: \(`.+`\))? \|", page, re.MULTILINE)
    assert {"Encryption", "Redaction", "Inspector", "Proxy", "MCP server", "Stores", "Recall and search"} <= set(parts)
    assert re.findall(r"^## (.+)$", page, re.MULTILINE)[:2] == ["Report a vulnerability", "Supported versions"]


def test_nothing_is_unpickled():
    """SECURITY.md says so: no part loads code from a store or a transcript."""
    loading = re.compile(r"\b(?:pickle|marshal)\.loads?\b|\byaml\.load\b|^import shelve\b", re.MULTILINE)
    assert [path for path in (ROOT / "src").rglob("*.py") if loading.search(path.read_text(encoding="utf-8"))] == []
