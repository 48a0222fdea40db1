"""Check the wheel and the sdist in `dist/` as users get them: their metadata, and in bare environments.

    python .ci/check_dist.py [--tag v0.1.0] [--python 3.12]...

For each Python that the project supports and this machine has, both files are installed into an environment of their
own with what a registry resolves today: first alone, then with the extra `cli`. There the README's quickstart, the
command and the demo run. A Python that is missing is skipped with a word; `--python` names those that must be there.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.metadata import Metadata
from packaging.requirements import Requirement
from trove_classifiers import classifiers

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNWANTED = re.compile(r"(^|/)(\.venv|__pycache__|build|dist|\.git|\.hypothesis)(/|$)|\.pyc$|(^|/)\.env$")
MISSING = "backscroll: the package 'click' is missing; run: pip install 'backscroll[cli]'"


def main() -> int:
    """Check everything, and print a line for each thing that holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the folder with the two files")
    parser.add_argument("--tag", help="the tag of the release, which must name the version")
    parser.add_argument("--python", action="append", dest="required", help="a version that must be installed")
    options = parser.parse_args()
    (wheel,), (sdist,) = sorted(options.dist.glob("*.whl")), sorted(options.dist.glob("*.tar.gz"))
    wrong = [*problems(wheel, sdist), *tag_problems(options.tag)]
    if wrong:
        raise SystemExit("\n".join(wrong))
    print(f"metadata: {wheel.name} and {sdist.name} are what a registry takes")
    print(extras())
    for version in options.required or supported():
        python = interpreter(version)
        if python is None and options.required:
            raise SystemExit(f"{version}: this Python is not installed")
        if python is None:
            print(f"{version}: skipped, this Python is not installed")
            continue
        for file in (wheel, sdist):
            try_out(python, file)
            print(f"{version}: {file.name} installs, runs the quickstart, and the command with its extra", flush=True)
    return 0


def supported() -> list[str]:
    """Return the versions of Python that the classifiers name."""
    found = (re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", each) for each in PROJECT["classifiers"])
    return [each[1] for each in found if each]


def interpreter(version: str) -> str | None:
    """Return the program of a Python of this machine that runs, or `None`."""
    name = f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(name), *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"), reverse=True))]
    return next((each for each in candidates if each and run([each, "-c", ""], check=False) is not None), None)


def run(line: Sequence[str], *, check: bool = True, folder: Path | None = None, code: int = 0) -> str | None:
    """Return what a program prints. `None`, or the end of this program, where it ends with another code."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(line, cwd=folder, env=clean, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode == code:
        return done.stdout + (done.stderr if code else "")
    if check:
        raise SystemExit(f"{' '.join(line)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return None


# -- metadata --


def problems(wheel: Path, sdist: Path) -> Iterator[str]:
    """Yield what a registry would refuse, or users would miss."""
    metadata, names = wheel_metadata(wheel)
    packed, packed_names = sdist_metadata(sdist)
    if metadata != packed:
        yield f"{sdist.name}: its PKG-INFO differs from the METADATA of {wheel.name}"
    for file, held in ((wheel, names), (sdist, packed_names)):
        yield from (f"{file.name}: {name} does not belong there" for name in held if UNWANTED.search(name))
    if not wheel.name.endswith("-py3-none-any.whl"):
        yield f"{wheel.name}: not for every platform"
    yield from metadata_problems(metadata)


def metadata_problems(text: bytes) -> Iterator[str]:
    """Yield what is wrong with core metadata."""
    metadata = Metadata.from_email(text, validate=True)
    if str(metadata.version) != PROJECT["version"]:
        yield f"version {metadata.version}, but pyproject.toml has {PROJECT['version']}"
    if metadata.license_expression != PROJECT["license"] or metadata.license_files != ["LICENSE"]:
        yield f"license: {metadata.license_expression} in {metadata.license_files}"
    if metadata.description_content_type != "text/markdown" or len(metadata.description or "") < 1_000:
        yield f"description: {metadata.description_content_type}, {len(metadata.description or '')} characters"
    yield from (f"unknown classifier: {each}" for each in metadata.classifiers or () if each not in classifiers)
    direct = [each for each in metadata.requires_dist or () if each.url]
    yield from (f"registries refuse a direct reference: {each}" for each in direct)
    if not metadata.summary or len(metadata.summary) > 512:
        yield f"summary: {metadata.summary!r}"


def wheel_metadata(wheel: Path) -> tuple[bytes, list[str]]:
    """Return the metadata of a wheel, and the names of its files."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        return archive.read(next(name for name in names if name.endswith(".dist-info/METADATA"))), names


def sdist_metadata(sdist: Path) -> tuple[bytes, list[str]]:
    """Return the metadata of an sdist, and the names of its files."""
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        held = archive.extractfile(next(name for name in names if re.fullmatch(r"[^/]+/PKG-INFO", name)))
        assert held is not None
        return held.read(), names


def tag_problems(tag: str | None) -> Iterator[str]:
    """Yield what keeps this tree from being a release of its tag. `None`: it is not one yet."""
    if tag is None:
        return
    if tag != f"v{PROJECT['version']}":
        yield f"the tag is {tag}, the version in pyproject.toml {PROJECT['version']}"
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(PROJECT['version'])} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        yield f"CHANGELOG.md has no dated section of {PROJECT['version']}"


def extras() -> str:
    """Say between which versions each extra is tested: the lowest by `make test-extras`, the others by all tests."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    others = [path for path in sorted(ROOT.glob("environments/*.lock")) if not path.name.startswith("lowest-")]
    newest = [pinned(path) for path in (ROOT / "requirements-dev.lock", *others)]
    lines = ["extras are tested from the versions of environments/lowest-*.lock to those of the other locks:"]
    for extra, asked in PROJECT["optional-dependencies"].items():
        tested = re.search(rf"^EXTRAS_(lowest-\w+) := (?:.* )?{extra}(?: .*)?$", makefile, re.MULTILINE)
        lowest = pinned(ROOT / f"environments/{tested[1]}.lock") if tested else {}
        spans = []
        for name in (Requirement(each).name.lower() for each in asked if not each.startswith("backscroll")):
            highest = max((lock[name] for lock in newest if name in lock), key=ordered)
            spans.append(
                f"{name} {lowest[name]} to {highest}" if lowest.get(name, highest) != highest else f"{name} {highest}"
            )
        lines += [f"  {extra}: {', '.join(spans)}"] if spans else []
    return "\n".join(lines)


def ordered(version: str) -> list[int]:
    """Return a version as numbers."""
    return [int(number) for number in re.findall(r"\d+", version)]


def pinned(lock: Path) -> dict[str, str]:
    """Return the versions of a lock file."""
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


# -- bare environments --


def try_out(python: str, file: Path) -> None:
    """Install a file with this Python, alone and with the extra `cli`, and use it from an empty folder."""
    with tempfile.TemporaryDirectory() as made:
        folder, environment = Path(made, "empty"), Path(made, "environment")
        folder.mkdir()
        uv = [sys.executable, "-m", "uv"]
        run([*uv, "venv", "--quiet", "--python", python, str(environment)])
        own = str(environment / "bin" / "python")
        run([*uv, "pip", "install", "--quiet", "--python", own, str(file)])
        use(own, folder)
        run([*uv, "pip", "install", "--quiet", "--python", own, f"{file}[cli]"])
        use_command(own, str(environment / "bin" / "backscroll"), folder)


def use(python: str, folder: Path) -> None:
    """Run what needs no extra."""
    version = PROJECT["version"]
    code, printed = quickstart()
    expect(run([python, "-W", "error", "-c", code], folder=folder), printed)
    expect(run([python, "-c", "import backscroll; print(backscroll.__version__)"], folder=folder), version)
    expect(run([python, "-m", "backscroll", "--version"], folder=folder), f"backscroll, version {version}")
    expect(run([python, "-m", "backscroll", "sessions", "x.db"], folder=folder, code=2), MISSING)


def use_command(python: str, command: str, folder: Path) -> None:
    """Run what needs the extra `cli`."""
    expect(run([command, "--version"], folder=folder), f"backscroll, version {PROJECT['version']}")
    expect(run([python, "-m", "backscroll", "--help"], folder=folder), run([command, "--help"], folder=folder) or "")
    shown = json.loads(run([command, "demo", str(folder / "demo"), "--json"], folder=folder) or "")
    expect(json.dumps([shown["problems"], shown["replay"]["invalid"]]), "[[], 0]")


def quickstart() -> tuple[str, str]:
    """Return the first Python block of the README, and what it prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Quickstart")[2]
    blocks = re.findall(r"^```(?:python|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return blocks[0], blocks[1]


def expect(printed: str | None, wanted: str) -> None:
    """End this program where a program printed something else."""
    if (printed or "").strip() != wanted.strip():
        raise SystemExit(f"printed:\n{printed}\nbut should print:\n{wanted}")


if __name__ == "__main__":
    sys.exit(main())
