"""Whether a step of a shell command only looks something up."""

import re

from backscroll.messages.deeds.programs import (
    ACTING,
    BRANCH_CHANGES,
    BRANCH_LISTS,
    BUILDERS,
    CHECKERS,
    GIT_READS,
    LITERALS,
    LOOKS,
    READING,
    RUN_WRAPPERS,
    RUNNERS,
    VALUED,
    WRAPPERS,
)
from backscroll.messages.deeds.shell import Step, steps_of
from backscroll.messages.deeds.verbs import CHANGES, NOUNS

_ASKS = re.compile(r"\s(?:--help|-h|--version|-V|--dry-run)(?=\s|$)")
_SENDS = re.compile(
    r"\s(?:-X\s?|--request[ =])['\"]?(?:POST|PUT|DELETE|PATCH)|"
    r"\s(?:-d|-F|-T|--data\S*|--form\S*|--json|--upload-file)\b"
)
_FIELDS = re.compile(r"\s(?:-X|--method)\s?['\"]?(?:POST|PUT|DELETE|PATCH)|\s(?:-f|-F|--field|--raw-field|--input)\b")
_SELECTS = re.compile(
    r"[\"'\s](?:SELECT|WITH|PRAGMA|EXPLAIN|SHOW|DESCRIBE|\.tables|\.schema|\\d[tdn+]*)\b", re.IGNORECASE
)
_ALTERS = re.compile(
    r"\b(?:INSERT\s+INTO|UPDATE\s+\S{1,200}\s+SET|DELETE\s+FROM|TRUNCATE\s+TABLE|REPLACE\s+INTO|MERGE\s+INTO|"
    r"(?:DROP|ALTER|CREATE)\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|TEMP\w*\s+|MATERIALIZED\s+)?(?:TABLE|INDEX|VIEW|SCHEMA|"
    r"DATABASE|TRIGGER|FUNCTION|PROCEDURE|TYPE|USER|ROLE|SEQUENCE|EXTENSION|POLICY|COLUMN)|"
    r"(?:GRANT|REVOKE)\s+\S{1,200}\s+(?:ON|TO|FROM)|VACUUM)\b",
    re.IGNORECASE,
)
_QUERIES = re.compile(
    r"SELECT\s|WITH\s+\w+\s+AS\b|PRAGMA\s|EXPLAIN\s|(?:SHOW|DESCRIBE)\s+\w+[\s;]*$|query\b\s*\w{0,80}\s*[({]|\{",
    re.IGNORECASE,
)
_MUTATES = re.compile(r"\s*mutation\b\s*\w{0,80}\s*[({]")
_WRITES = re.compile(
    r"open\([^()\n]{1,200},\s{0,9}(?:mode\s?=\s?)?['\"][wax]|\.write\(|write_text|write_bytes|writeFile|appendFile|"
    r"\bunlink|rmtree|\bremove\(|\brename\(|\bmkdir|makedirs|shutil\.|requests\.(?:post|put|delete|patch)|subprocess|"
    r"os\.system|execSync|\.commit\(|\.save\(|\.to_(?:csv|parquet|excel|json|sql|pickle)\(|savefig|\.dump\(|"
    r"pip install|\.click\(|\.fill\(|\.send\w*\(|\.post\(|\.submit\(|\.setItem\(|\.value\s?=[^=]|"
    r"method:\s?['\"](?:POST|PUT|DELETE|PATCH)"
)
"""What in code writes files, sends requests or acts on a page."""
_PRINTS = re.compile(r"\bprint\w*\s*[(:]|console\.log|\bputs\b|\becho\b|\.head\(|\.describe\(|\.info\(")
_REDIRECTED = re.compile(
    r"'[^']*'|\"(?:[^\"\\]|\\[\s\S])*+\"|(?<![<>&=\d-])1?>>?\s{0,4}(?!&|/dev/)(['\"]?)([^\s'\"|&;<>()]{1,500})\1"
)
_ASSIGNED = re.compile(r"[A-Za-z_]\w{0,60}=(?:\"[^\"]*\"|'[^']*'|[^\s\"'(`]*)\s+(?=\S)")
_SETS = re.compile(r"[A-Za-z_]\w{0,80}\+?=")
_NUMBER = re.compile(r"\d+\.?\d*[smhd]?")
_INTERPRETERS = re.compile(r"(?:python[\d.]*|node|ruby|perl|deno\s+eval|bun|php)\b")
_CODE = re.compile(r"\s-(?:c|e|p|pe|ne)\b|\s--(?:eval|print)\b")
_SHELLS = re.compile(r"(?:ba|z|da)?sh\b")
_INNER = re.compile(r"\s-\w{0,8}c\s+(['\"])")
"""The beginning of the command that a shell is given."""
_REDIRECTS = re.compile(r"[12&]?>>?\s?[^\s&|;]{1,500}")
_XARGS = re.compile(r"xargs(?:\s+-[0rt]+|\s+-[InPLd]\s*\S+|\s+--\S+){0,8}\s*")
_LOOKING = ("describe-", "get-", "list-", "show-")
_GIT_FLAGS = re.compile(r"^(?:(?:-[Cc]\s+\S+|--\S+)\s+){1,4}")
_FLAGS = re.compile(r"-{1,2}[\w-]+(?:=\S*)?|-[A-Za-z]")


def bare(program: str) -> str:
    """Return a program without assignments, and without programs that only run it."""
    for _ in range(8):  # `CI=1 FORCE_COLOR=0 timeout 60 uv run` and the like
        if assignment := _ASSIGNED.match(program):
            program = program[assignment.end() :]
            continue
        words = program.split(maxsplit=2)
        wraps = bool(words) and words[0] in WRAPPERS
        runs = len(words) > 2 and RUN_WRAPPERS.get(words[0]) == words[1]
        if not (wraps or runs):
            return program
        program = _behind_flags(program.split(maxsplit=1)[1:] if wraps else words[2:])
    return program


def _behind_flags(rest: list[str]) -> str:
    """Return what follows the flags of a program that runs another, and its time limit."""
    program = rest[0] if rest else ""
    for _ in range(8):
        words = program.split(maxsplit=2)
        if not words or not (words[0].startswith("-") or _NUMBER.fullmatch(words[0])):
            return program
        program = " ".join(words[2:] if words[0] in VALUED else words[1:])
    return program


def written_file(stage: str) -> str:
    """Return the file into which a stage redirects its output; empty if it redirects it to none."""
    return next((found.group(2) for found in _REDIRECTED.finditer(stage) if found.group(2)), "")


def step_reads(step: Step) -> bool:
    """Return whether a step only looks something up: each program of its pipe does."""
    if step.background and len(step.stages) == 1 and not bare(step.stages[0]):
        return True
    return all(stage_reads(stage, step.documents) for stage in step.stages)


def is_unknown(stage: str) -> bool:
    """Return whether neither a program nor its subcommand says whether it changes something."""
    words = bare(stage).split(maxsplit=6)[:6]
    if not words or {"/", "="} & set(words[0]) or words[0] in ACTING | BUILDERS | CHECKERS | READING | RUNNERS:
        return False
    return not (CHANGES | NOUNS).intersection(words[1:])


def stage_reads(stage: str, documents: tuple[str, ...] = (), depth: int = 3) -> bool:
    """Return whether one program with its arguments only looks something up.

    Args:
        stage: The program and its arguments.
        documents: Its here-documents.
        depth: How many programs within it, such as that of `xargs`, are looked at.
    """
    if not depth:
        return False
    stage = bare(stage)
    words = stage.split(maxsplit=12)
    if not words:
        return True
    program = words[0].rsplit("/", 1)[-1].strip("'\"")
    if _SETS.match(stage):  # an assignment, perhaps of what a command prints
        inner = re.search(r"=\"?(?:\$\(|`)(.*)", stage, re.DOTALL)
        return inner is None or stage_reads(inner.group(1).rstrip(')`"'), (), depth - 1)
    if program in READING or program.startswith(("#", "}", "<<")):
        return _shell_word_reads(program, stage, documents, depth - 1)
    if _ASKS.search(stage):
        return True
    if program in ("curl", "http", "https", "wget"):
        return not _SENDS.search(stage) and (program != "wget" or "-O-" in stage.replace(" ", ""))
    if program in ("psql", "sqlite3", "mysql", "duckdb", "bq"):
        text = stage + "\n".join(documents)
        return _SELECTS.search(text) is not None and not _ALTERS.search(text)
    if _INTERPRETERS.match(program) and (documents or _CODE.search(stage) or program not in RUNNERS):
        return code_reads(stage, documents)
    if _SHELLS.fullmatch(program):
        inner = _INNER.search(stage)
        rest = stage[inner.end() :].rstrip().removesuffix(inner.group(1)) if inner else ""
        return bool(rest) and all(_reads_within(step, depth - 1) for step in steps_of(rest))
    return _subcommand_reads(program, stage)


def _reads_within(step: Step, depth: int) -> bool:
    return all(stage_reads(stage, step.documents, depth) for stage in step.stages)


def _shell_word_reads(program: str, stage: str, documents: tuple[str, ...], depth: int) -> bool:
    if program == "sed":
        return not re.search(r"\s(?:-[a-zA-Z]*i|--in-place)", stage)
    if program == "find":
        return not re.search(r"\s-(?:delete|exec(?:dir)?\s+(?:rm|mv|sed\s+-i|chmod))\b", stage)
    if program == "xargs":
        rest = _XARGS.sub("", stage, count=1)
        return not rest or stage_reads(rest, (), depth)
    if program in ("command", "eval", "time") and len(stage.split()) > 1 and " -v" not in stage:
        return stage_reads(stage.split(maxsplit=1)[1], (), depth)
    return not (program in LITERALS and (written_file(stage) or (documents and ">" in stage)))


def code_reads(stage: str, documents: tuple[str, ...] = ()) -> bool:
    """Return whether code given to an interpreter only prints something, as far as one can see."""
    if not documents and not _CODE.search(stage):
        return False  # it runs a program in a file
    prints = re.search(r"\s(?:-p|--print)\b", stage) is None  # these print the value of the code
    return text_reads("\n".join((stage, *documents)), prints=prints)


def text_reads(code: str, *, prints: bool = True) -> bool:
    """Return whether a piece of code only looks something up, as far as one can see.

    Args:
        code: The code.
        prints: Whether it must print something, as code that is an expression need not.
    """
    return (not prints or _PRINTS.search(code) is not None) and not _WRITES.search(code)


def query_reads(text: str) -> bool | None:
    """Return whether a text is a query that only reads; `None` if it is no SQL or GraphQL."""
    if _ALTERS.search(text) or _MUTATES.match(text):
        return False
    return True if _QUERIES.match(text.strip()) else None


def _subcommand_reads(program: str, stage: str) -> bool:
    """Return whether the first verb behind a program's name looks something up."""
    rest = _REDIRECTS.sub("", stage.partition(" ")[2]).strip()
    if program == "git":
        return _git_reads(_GIT_FLAGS.sub("", rest, count=1))
    if program in ("gh", "glab") and rest.startswith("api"):
        return not _FIELDS.search(stage) or (" graphql" in stage and "mutation" not in stage)
    for word in [word for word in rest.split(maxsplit=6)[:6] if not _FLAGS.fullmatch(word)][:3]:
        if word in LOOKS or word.startswith(_LOOKING):
            return True
        if word in CHANGES or (word == "run" and program not in ("gh", "glab")):  # runs of a workflow, not a program
            return False
    return False


def _git_reads(arguments: str) -> bool:
    words = arguments.split(maxsplit=20)
    name, first = (words[0] if words else "help"), (words[1] if len(words) > 1 else "")
    if name in GIT_READS:
        return first in GIT_READS[name]
    if name == "config":
        return first in ("-l", "--list") or first.startswith("--get") or len([w for w in words if w[0] != "-"]) == 2
    if name in ("branch", "tag"):
        flags = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
        return not flags & BRANCH_CHANGES and (bool(flags & BRANCH_LISTS) or len(words) == 1 + len(flags))
    return name in LOOKS
