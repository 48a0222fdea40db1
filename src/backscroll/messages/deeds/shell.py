"""A shell command line as its steps: split at `&&`, `||`, `;`, `&` and ends of lines, with here-documents taken out."""

import re
from bisect import bisect_right
from collections import defaultdict
from typing import NamedTuple

READ = 60_000
"""Characters of a command that are read. The longest recorded one has 12,271; longer ones write a whole file, of which
the beginning is enough.
"""
_DEPTH = 3  # subshells within each other that are split as well
_HEREDOC = re.compile(r"(?<!<)<<-?[ \t]*(?:'(\w{1,60})'|\"(\w{1,60})\"|\\?([A-Za-z_]\w{0,60}))")
_TOKEN = re.compile(
    r"\$'(?:[^'\\]|\\[\s\S])*+'|'[^']*'|\"(?:[^\"\\]|\\[\s\S])*+\"|\\[\s\S]|\$\(|\(|\)|`[^`]*`|&&|\|\||[;\n]|\|&?|&>>?|[<>]&|&|(?<![^\s;])#[^\n]*"
)
_KEYWORD = re.compile(r"(?:(?:do|then|else|elif|if|while|until|time|!|\{|\()\s+|\(\s*)")
_MARK = "\x00"
"""Precedes the number of a here-document that was taken out."""
_MARKED = re.compile(r"<<\x00(\d{1,6})\x00")
_QUIET = re.compile(r" ?(?:2>&1|[2&]?> ?/dev/null)(?= |$)")
_PAGES = re.compile(r"(?:tail|head)\b")
"""What only shortens an output."""


class Step(NamedTuple):
    """One step of a command."""

    stages: tuple[str, ...]
    """The programs of its pipe, each with its arguments."""
    documents: tuple[str, ...] = ()
    """Its here-documents."""
    background: bool = False
    """Whether `&` follows it."""

    @property
    def text(self) -> str:
        """The step without its here-documents, and without what only shortens or hides its output."""
        stages = list(self.stages)
        while len(stages) > 1 and _PAGES.match(stages[-1]):
            stages.pop()
        return _QUIET.sub("", " ".join(" | ".join(stages).split()))


def steps_of(command: str) -> list[Step]:
    """Return the steps of a command in order. Comments are left out."""
    line, documents = _without_documents(command[:READ].replace(_MARK, ""))
    return _steps(line, documents, _DEPTH)


def _without_documents(command: str) -> tuple[str, list[str]]:
    """Return a command with a mark for each here-document, and these."""
    if "<<" not in command:
        return command, []
    lines = command.split("\n")
    ends: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        ends[line.strip().rstrip(")\"';")].append(number)
    kept, documents, at = list[str](), list[str](), 0
    while at < len(lines):
        line, behind = lines[at], at + 1
        for found in list(_HEREDOC.finditer(line))[:1]:
            word = found.group(1) or found.group(2) or found.group(3)
            later = ends[word][bisect_right(ends[word], at) :][:1] if word in ends else []
            if not later and not word.isupper():
                continue  # a shift or a stream of a program that the command holds
            end = later[0] if later else len(lines)
            line = f"{line[: found.start()]}<<{_MARK}{len(documents)}{_MARK}{line[found.end() :]}"
            documents.append("\n".join(lines[behind:end]))
            rest = lines[end].strip().removeprefix(word) if later else ""
            line, behind = line + rest, end + 1
        kept.append(line)
        at = behind
    return "\n".join(kept), documents


def _steps(line: str, documents: list[str], depth: int) -> list[Step]:
    found: list[Step] = []
    for stages, background in _pipes(line):
        whole = stages[0].strip()
        if depth and len(stages) == 1 and whole.startswith("(") and whole.endswith(")"):
            found += _steps(whole[1:-1], documents, depth - 1)
            continue
        numbers = [int(number) for stage in stages for number in _MARKED.findall(stage)]
        programs = tuple(program for stage in stages if (program := _program(stage)))
        if programs:
            found.append(Step(programs, tuple(documents[number] for number in numbers), background))
    return found


def _program(stage: str) -> str:
    """Return a program with its arguments, without the words of the shell before it."""
    stage = _MARKED.sub("<<…", stage).strip()
    for _ in range(4):  # `do if ! (` has four
        keyword = _KEYWORD.match(stage)
        if keyword is None:
            break
        stage = stage[keyword.end() :].strip()
    return stage


def _pipes(line: str) -> list[tuple[list[str], bool]]:
    """Return the pipes of a line, each as its stages, and whether it goes on in the background."""
    pipes: list[tuple[list[str], bool]] = []
    stages: list[str] = []
    pieces: list[str] = []
    at = depth = 0
    for token in _TOKEN.finditer(line):
        sign = token.group(0)
        if sign in ("(", "$("):
            depth += 1
        elif sign == ")":
            depth = max(0, depth - 1)
        elif not depth and sign[0] == "#":
            pieces.append(line[at : token.start()])
            at = token.end()
        elif not depth and sign in ("|", "|&"):
            stages.append("".join([*pieces, line[at : token.start()]]))
            pieces, at = [], token.end()
        elif not depth and sign in ("&&", "||", ";", "\n", "&"):
            pipes.append(([*stages, "".join([*pieces, line[at : token.start()]])], sign == "&"))
            stages, pieces, at = [], [], token.end()
    pipes.append(([*stages, "".join([*pieces, line[at:]])], False))
    return [(pipe, background) for pipe, background in pipes if any(stage.strip() for stage in pipe)]
