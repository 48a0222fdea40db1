"""What newcomers get wrong, and that each error says what is wrong, the value, where it is and how to correct it."""

import asyncio
import base64
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from backscroll import (
    AsyncContextManager,
    BackscrollError,
    BudgetError,
    ConfigurationError,
    ConflictError,
    ContextManager,
    CorruptionError,
    MessageError,
    Protection,
    ReferenceNotFoundError,
    StorageOptions,
    StoreUnavailableError,
    Summarizer,
)
from backscroll.integrations.clients import anthropic_request, chat_request
from backscroll.manager.options_file import read_options
from tests.cli.commands import invoke

USER = {"role": "user", "content": "Hello"}
KEY = base64.b64encode(bytes(range(32))).decode()


class Mistake(NamedTuple):
    """What is done in a folder, the error that follows, and words of its text: the value, the place, the remedy."""

    name: str
    do: Callable[[Path], Any]
    error: type[BackscrollError]
    value: str
    place: str
    remedy: str


def kept(**options: Any) -> ContextManager:
    context = ContextManager(**options)
    context.append(USER)
    return context


def call(id: str | None = "c1") -> dict[str, Any]:
    made = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made if id is None else {"id": id, **made}]}


def options_in(folder: Path, text: str) -> object:
    (folder / "options.toml").write_text(text)
    return read_options(folder / "options.toml")


def flipped(folder: Path) -> object:
    """A message of a database whose bytes were changed by another program."""
    kept(store=folder / "agent.db", session="a").close()
    with sqlite3.connect(folder / "agent.db") as other:
        other.execute("update record set body = x'7b7d'")
    other.close()
    return ContextManager(store=folder / "agent.db", session="a").get_messages()


def text_as_database(folder: Path) -> object:
    (folder / "notes.db").write_text("These are my notes.\n" * 400)
    return kept(store=folder / "notes.db", session="a")


def another_key(folder: Path) -> object:
    storage = StorageOptions(encryption_key=KEY)
    kept(store=folder / "agent.db", session="a", storage=storage).close()
    other = StorageOptions(encryption_key=base64.b64encode(bytes(32)).decode())
    return ContextManager(store=folder / "agent.db", session="a", storage=other).get_messages()


def same_fork(folder: Path) -> object:
    context = kept(store=folder / "agent.db", session="a")
    context.fork("b")
    return context.fork("b")


def forked_and_deleted(folder: Path) -> None:
    context = kept(store=folder / "agent.db", session="a")
    context.fork("b")
    context.delete()


def leased(folder: Path) -> object:
    holder = kept(store=folder / "agent.db", session="a", lease=60)
    return holder, ContextManager(store=folder / "agent.db", session="a", lease=60).append(USER)


def same_key(_: Path) -> object:
    context = ContextManager()
    context.append(USER, idempotency_key="order-7")
    return context.append({"role": "user", "content": "Bye"}, idempotency_key="order-7")


def too_small(_: Path) -> object:
    context = ContextManager()
    context.append({"role": "user", "content": "word " * 3_000})
    context.pin(0)
    return context.get_messages_for_request(100)


async def not_awaited() -> object:
    async with AsyncContextManager() as context:
        view = context.get_messages_for_request()
        try:
            return chat_request(view)  # type: ignore[arg-type]  # the mistake
        finally:
            view.close()


async def plain_with() -> None:
    with AsyncContextManager():  # type: ignore[attr-defined]
        pass


def litellm(_: Path) -> None:
    import backscroll.integrations.litellm  # noqa: F401  not in this environment


def of(**options: Any) -> Callable[[Path], object]:
    return lambda _: ContextManager(**options)


def on(use: Callable[[ContextManager], object]) -> Callable[[Path], object]:
    """The use of a session with one message in memory."""
    return lambda _: use(kept())


OPTION = ConfigurationError
OPTIONS = [
    Mistake("no name", lambda _: ContextManager("agent.db"), OPTION, "options", "by name", 'write store="sqlite'),  # type: ignore[arg-type]  # the mistake
    Mistake("misspelled option", of(budgt=4_000), OPTION, "budgt", "unknown option", "did you mean `budget`"),
    Mistake("option of another tool", of(max_context=9), OPTION, "max_context", "unknown option", "the options are"),
    Mistake("budget as text", of(budget="32k"), OPTION, "'32k'", "`budget`", "a whole number of tokens"),
    Mistake("budget as float", of(budget=32e3), OPTION, "32000.0", "`budget`", "a whole number of tokens"),
    Mistake("budget of zero", of(budget=0), OPTION, "not 0", "`max_tokens`", "at least 1"),
    Mistake("mode", of(mode="cheap"), OPTION, "'cheap'", "`mode`", "'standard', 'lean' or 'facts'"),
    Mistake("share as percent", of(compact_threshold=92), OPTION, "92", "`compact_threshold`", "above 0 to 1"),
    Mistake(
        "target over threshold",
        of(compact_threshold=0.5, target_usage=0.8),
        OPTION,
        "0.8",
        "`target_usage`",
        "below `compact_threshold` (0.5)",
    ),
    Mistake("one strategy as text", of(strategies="excerpt"), OPTION, "'excerpt'", "`strategies`", "a list of names"),
    Mistake("unknown strategy", of(strategies=["summarise"]), OPTION, "'summarise'", "strategy", "known are 'auto'"),
    Mistake("group as dict", of(protect={"recent": 3}), OPTION, "{'recent': 3}", "`protect`", "a Protection("),
    Mistake("share below zero", lambda _: Protection(recent=-1), OPTION, "-1", "`recent`", "from 0 to 1"),
    Mistake("too few messages", of(max_messages=2), OPTION, "not 2", "`max_messages`", "at least 8"),
    Mistake("tokenizer", of(tokenizer="gpt4"), OPTION, "'gpt4'", "tokenizer", "known names: auto, o200k_base"),
    Mistake("summarizer by name", of(summarizer="gpt-5.5"), OPTION, "'gpt-5.5'", "`summarizer`", "a function"),
    Mistake(
        "window of zero",
        lambda _: Summarizer(str, context_tokens=0),
        OPTION,
        "not 0",
        "`context_tokens`",
        "at least 2,000",
    ),
    Mistake("callback by name", of(on_event="print"), OPTION, "'print'", "`on_event`", "a function"),
    Mistake("marks of another provider", of(cache_marks="openai"), OPTION, "'openai'", "`cache_marks`", '"anthropic"'),
    Mistake("session as number", of(store="memory:", session=3), OPTION, "not 3", "`session`", '"support-42"'),
    Mistake("lease of zero", of(store="memory:", session="a", lease=0), OPTION, "not 0", "`lease`", "above 0"),
    Mistake(
        "file of options",
        lambda folder: options_in(folder, "budgt = 3"),
        OPTION,
        "`budgt`",
        "options.toml",
        "known are mode",
    ),
    Mistake(
        "file that is no TOML",
        lambda folder: options_in(folder, "budget = = 3"),
        OPTION,
        "Invalid value",
        "options.toml",
        "TOML or JSON",
    ),
    Mistake(
        "no file of options",
        lambda folder: read_options(folder / "no.toml"),
        OPTION,
        "No such file",
        "no.toml",
        "check the path",
    ),
    Mistake("missing extra", litellm, OPTION, "LiteLLM", "is not installed", "pip install 'backscroll[litellm]'"),
]
STORES = [
    Mistake("path for an address", of(store="agent.db"), OPTION, "'agent.db'", "`store`", "sqlite:///relative/path.db"),
    Mistake(
        "unknown database",
        of(store="mysql://me:secret@host/db"),
        OPTION,
        "'mysql://me:***@host/db'",
        "`store`",
        "use one of",
    ),
    Mistake("two slashes", of(store="sqlite://agent.db"), OPTION, "'sqlite://agent.db'", "`store`", "sqlite:///"),
    Mistake("option of an address", of(store="sqlite:///a.db?sync=off"), OPTION, "'sync'", "`store`", "`durability`"),
    Mistake("durability", of(store="sqlite:///a.db?durability=fast"), OPTION, "'fast'", "`durability`", "full, normal"),
    Mistake("no address", of(store=3), OPTION, "not 3", "`store`", '"sqlite:///agent.db"'),
    Mistake(
        "folder for a file",
        lambda folder: kept(store=folder),
        StoreUnavailableError,
        "is a folder",
        "{folder}",
        "path of a file",
    ),
    Mistake(
        "missing folder",
        lambda folder: kept(store=folder / "no/x.db"),
        StoreUnavailableError,
        "No such file",
        "no/x.db",
        "check the file, its folder",
    ),
    Mistake(
        "port of PostgreSQL",
        of(store="postgresql://host:port/db"),
        OPTION,
        "a port that is not a number",
        "address",
        "%40",
    ),
    Mistake(
        "server that is down",
        lambda _: kept(store="postgresql://127.0.0.1:1/db", session="a"),
        StoreUnavailableError,
        "refused",
        "127.0.0.1:1",
        "check that the server runs",
    ),
    Mistake(
        "password for a key",
        lambda folder: ContextManager(store=folder / "a.db", storage=StorageOptions(encryption_key="secret")),
        OPTION,
        "32 random bytes",
        "`encryption_key`",
        "create one with",
    ),
    Mistake(
        "blobs alone",
        lambda _: ContextManager(storage=StorageOptions(blob_store="blobs")),
        OPTION,
        "requires a store",
        "`blob_store`",
        'pass store="',
    ),
    Mistake("another key", another_key, OPTION, "is not the key", "agent.db", "pass that one"),
    Mistake("altered record", flipped, CorruptionError, "record", "agent.db", "verify()"),
    Mistake("text as a database", text_as_database, CorruptionError, "not a database", "notes.db", "verify()"),
    Mistake("name of a fork", same_fork, ConflictError, "'b'", "session", "choose another name"),
    Mistake("fork in memory", on(lambda context: context.fork("b")), OPTION, "in memory", "forked", "pass a `store`"),
    Mistake("forks of a session", forked_and_deleted, ConflictError, "['b']", "'a'", "`cascade=True`"),
    Mistake("second writer", leased, ConflictError, "'a'", "session", "wait until its lease ends"),
]
MESSAGES = [
    Mistake(
        "text as a message",
        on(lambda context: context.append("Hello")),
        MessageError,
        "'Hello' (str)",
        "message",
        '{"role": "user"',
    ),
    Mistake(
        "list of messages",
        on(lambda context: context.append([USER, USER])),
        MessageError,
        "(list)",
        "message",
        "append(*messages)",
    ),
    Mistake(
        "no role",
        on(lambda context: context.append({"content": "Hi"})),
        MessageError,
        "None",
        "'role'",
        "a non-empty text",
    ),
    Mistake(
        "unknown role",
        on(lambda context: context.append({"role": "bot", "content": "Hi"})),
        MessageError,
        "'bot'",
        "role",
        "use one of system",
    ),
    Mistake(
        "content as number",
        on(lambda context: context.append(USER, {"role": "user", "content": 3})),
        MessageError,
        "is 3",
        "message 2 of 2",
        "give a text or a list",
    ),
    Mistake(
        "bytes",
        on(lambda context: context.append({"role": "user", "content": b"Hi"})),
        MessageError,
        "bytes",
        "message['content']",
        "base64",
    ),
    Mistake(
        "set",
        on(lambda context: context.append(USER, {"role": "user", "content": {1}})),
        MessageError,
        "type set",
        "message 2 of 2: message['content']",
        "make it a list",
    ),
    Mistake(
        "not a number",
        on(
            lambda context: context.append(
                {"role": "user", "content": [{"type": "text", "text": "", "n": float("nan")}]}
            )
        ),
        MessageError,
        "nan",
        "message['content'][0]['n']",
        "use null or a text",
    ),
    Mistake(
        "result without id",
        on(lambda context: context.append(call(), {"role": "tool", "content": "ok"})),
        MessageError,
        "no `tool_call_id`",
        "message 2 of 2",
        "give the id of the call",
    ),
    Mistake(
        "call without id",
        on(lambda context: context.append(call(None))),
        MessageError,
        "no `id`",
        "message['tool_calls'][0]",
        "give every call an id",
    ),
    Mistake("key of other messages", same_key, ConflictError, "'order-7'", "id", "use a new key"),
    Mistake(
        "key as number",
        on(lambda context: context.append(USER, idempotency_key=7)),  # type: ignore[arg-type]  # the mistake
        OPTION,
        "not 7",
        "`idempotency_key`",
        '"order-7"',
    ),
    Mistake(
        "mapping for messages",
        on(lambda context: context.set_messages(USER)),  # type: ignore[arg-type]  # the mistake
        MessageError,
        "'role' (str)",
        "message 1 of 2",
        '{"role": "user"',
    ),
]
REQUESTS = [
    Mistake("budget too small", too_small, BudgetError, "3,", "the budget is 100", "raise `token_budget`"),
    Mistake(
        "budget of a request",
        on(lambda context: context.get_messages_for_request("4k")),  # type: ignore[arg-type]  # the mistake
        OPTION,
        "'4k'",
        "`token_budget`",
        "16_000",
    ),
    Mistake(
        "lane as number",
        on(lambda context: context.get_messages_for_request(lane=3)),  # type: ignore[arg-type]  # the mistake
        OPTION,
        "not 3",
        "`lane`",
        '"planner"',
    ),
    Mistake(
        "tools as text",
        on(lambda context: context.get_messages_for_request(tools="read")),
        OPTION,
        "'read'",
        "`tools`",
        "a list of tool definitions",
    ),
    Mistake("plain with", lambda _: asyncio.run(plain_with()), OPTION, "asynchronous", "this manager", "`async with`"),
    Mistake("forgotten await", lambda _: asyncio.run(not_awaited()), OPTION, "coroutine", "`view`", "await it first"),
    Mistake(
        "another provider",
        lambda _: chat_request([{"role": "user", "content": [{"type": "tool_result"}]}]),
        OPTION,
        "'tool_result'",
        "view[0]",
        "send the views of a session to the provider",
    ),
    Mistake(
        "text for a view",
        lambda _: anthropic_request("Hello"),  # type: ignore[arg-type]  # the mistake
        OPTION,
        "'Hello'",
        "`view`",
        "get_messages_for_request",
    ),
    Mistake("response", on(lambda context: context.observe_response(3)), OPTION, "int", "usage", "`observe_usage`"),
]
REFERENCES = [
    Mistake("pin", on(lambda context: context.pin(7)), ReferenceNotFoundError, "7", "no message", "0 to 0"),
    Mistake(
        "pin in an empty session",
        lambda _: ContextManager().pin(0),
        ReferenceNotFoundError,
        "0",
        "no message",
        "none yet",
    ),
    Mistake("pin by text", on(lambda context: context.pin("7")), ReferenceNotFoundError, "'7'", "no message", "0 to 0"),  # type: ignore[arg-type]  # the mistake
    Mistake(
        "rewind", on(lambda context: context.rewind(9)), ReferenceNotFoundError, "9", "branch", "-1 for its beginning"
    ),
    Mistake(
        "unknown reference",
        on(lambda context: context.recall("[ref:99]")),
        ReferenceNotFoundError,
        "[ref:99]",
        "messages",
        "0 to 0",
    ),
    Mistake(
        "word for a reference",
        on(lambda context: context.recall("printer")),
        ReferenceNotFoundError,
        "'printer'",
        "reference",
        "[ref:12-40]",
    ),
    Mistake(
        "unknown part",
        on(lambda context: context.recall("[ref:0.7]")),
        ReferenceNotFoundError,
        "part 7",
        "message 0",
        "0.0 to 0.0",
    ),
    Mistake("no reference", on(lambda context: context.recall()), OPTION, "needs a ref", "recall", '"[ref:12]"'),
    Mistake(
        "reference and query",
        on(lambda context: context.recall(0, query="fire")),
        OPTION,
        "'fire'",
        "query",
        "call it twice",
    ),
    Mistake(
        "broken pattern", on(lambda context: context.recall(pattern="(")), OPTION, "'('", "position 1", "missing )"
    ),
    Mistake(
        "lines from the end",
        on(lambda context: context.recall(0, lines=(5, 1))),
        OPTION,
        "(5, 1)",
        "`lines`",
        "(first, last)",
    ),
    Mistake(
        "tool of another dialect", on(lambda context: context.recall_tool("gpt")), OPTION, "'gpt'", "format", "'openai'"
    ),
    Mistake(
        "focus alone", on(lambda context: context.compact("fire")), OPTION, "requires", "`focus`", "pass `summarizer`"
    ),
    Mistake(
        "kind of messages",
        on(lambda context: context.trim(keep_last=1, only="results")),
        OPTION,
        "'results'",
        "`only`",
        "'tools'",
    ),
    Mistake(
        "percent", on(lambda context: context.trim(keep_last=1, fraction=50)), OPTION, "50", "`fraction`", "at most 1"
    ),
    Mistake(
        "unknown request",
        on(lambda context: context.get_request(7)),
        ReferenceNotFoundError,
        "7",
        "log",
        "`list_requests()`",
    ),
]
MISTAKES = [*OPTIONS, *STORES, *MESSAGES, *REQUESTS, *REFERENCES]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_error_says_what_where_and_how_to_correct_it(mistake: Mistake, tmp_path: Path) -> None:
    with pytest.raises(mistake.error) as caught:
        mistake.do(tmp_path)
    text = "; ".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    place = mistake.place.format(folder=tmp_path)
    assert [words for words in (mistake.value, place, mistake.remedy) if words not in text] == [], text
    assert type(caught.value).__name__[0] != "_", "users see the class in tracebacks, and look for it in the documents"
    assert not re.search(r"0x[0-9a-f]{6}|\n", text) or mistake.name == "forgotten await"


class Command(NamedTuple):
    """A command with `{folder}` in its arguments, and words of its one error."""

    line: str
    value: str
    place: str
    remedy: str


COMMANDS = [
    Command("sesions {folder}/a.db", "'sesions'", "command", "Did you mean 'sessions'"),
    Command("verify", "STORE", "argument", "--help"),
    Command("sessions {folder}/a.db --jsn", "--jsn", "option", "Did you mean '--json'"),
    Command("sessions {folder}/no.db", "no store there", "{folder}/no.db", "does not exist"),
    Command("sessions {folder}/notes.txt", "not a database", "{folder}/notes.txt", "pass a database, a folder"),
    Command("sessions {folder}/empty", "no file in this folder", "{folder}/empty", "holds a session"),
    Command("show {folder}/a.db support", "'support'", "session", "it has: 'a'"),
    Command("delete {folder}/a.db a", "confirmation", "stdin", "--yes"),
    Command("fork {folder}/a.db a a", "'a' exists already", "session", "choose another name"),
    Command("export {folder}/a.db - --json", "--json", "TARGET", "use only one"),
    Command("search {folder}/a.db fire --limit 0", "0", "--limit", "x>=1"),
    Command("import {folder}/notes.txt {folder}/b.db", "not JSON", "notes.txt: line 1, column 1", "a transcript is"),
    Command("replay {folder}/no.jsonl", "No such file", "{folder}/no.jsonl", "cannot be read"),
    Command("replay {folder}/notes.txt --budget lots", "'lots'", "--budget", "32000 or 32k"),
    Command("replay {folder}/notes.txt --strategy drop", "'drop'", "--strategy", "choose from auto"),
    Command("tune {folder}/empty", "no transcript", "{folder}/empty", ".jsonl"),
    Command("serve --port 99999", "99999", "--port", "0<=x<=65535"),
    Command("demo {folder}", "other files", "FOLDER {folder}", "pass a new one"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mistakes")
    kept(store=made / "a.db", session="a").close()
    (made / "notes.txt").write_text("These are my notes.")
    (made / "empty").mkdir()
    (made / "empty" / "notes.txt").write_text("These are my notes.")
    return made


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.line.replace("{folder}/", ""))
def test_command_says_what_where_and_how_to_correct_it(command: Command, folder: Path) -> None:
    done = invoke(*command.line.format(folder=folder).split(" "))
    assert (done.exit_code, done.stdout) == (2, "")
    place = command.place.format(folder=folder)
    assert [words for words in (command.value, place, command.remedy) if words not in done.stderr] == [], done.stderr
    assert "Traceback" not in done.stderr


def test_there_are_45_mistakes_and_more_each_with_a_name() -> None:
    assert len(MISTAKES) + len(COMMANDS) >= 45
    assert len({mistake.name for mistake in MISTAKES}) == len(MISTAKES)
