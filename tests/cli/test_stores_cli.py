"""The commands for stored sessions as a user meets them: what they print, exit codes, bad input, a real terminal."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from backscroll import ContextManager, StorageOptions, Summarizer
from backscroll.cli.stores import locate as places
from backscroll.cli.stores.render import messages_of
from backscroll.compaction.summarization import PROMPT, SummaryResponse
from backscroll.ports import Store
from backscroll.stores.addresses import open_store
from backscroll.stores.jsonl.folder import file_name
from backscroll.stores.sqlite import SqliteStore
from tests.cli.commands import app, on_a_terminal

KINDS = ("sqlite", "jsonl")


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def talk(address: str, session: str, rounds: int, **options: Any) -> list[dict[str, Any]]:
    """A conversation in a store, with a compaction if it is long."""
    usual: dict[str, Any] = {"tokenizer": len, "budget": 3_000, "clear_at_least_tokens": None}
    context = ContextManager(session=session, store=address, **usual | options)
    context.append(message("user", f"Look at the logs of {session}."))
    for at in range(rounds):
        call = {"id": f"c{at}", "type": "function", "function": {"name": "read_log", "arguments": f'{{"n": {at}}}'}}
        context.append(
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": f"log {at} of {session}: " + "all is well\n" * 20},
        )
        context.get_messages_for_request()
    context.append(message("assistant", f"The logs of {session} are [bold]fine[/bold]\x1b[31m."))
    kept = context.get_messages()
    context.close()
    return kept


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store with three sessions, as the path of its file or folder."""
    path = str(tmp_path / ("a.db" if request.param == "sqlite" else "a"))
    for session, rounds in (("alpha", 2), ("b/eta", 30), ("gamma", 0)):
        talk(f"{request.param}:///{path}", session, rounds)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same as a folder, for what is not about the kind."""
    path = tmp_path / "folder"
    for session, rounds in (("alpha", 2), ("beta", 30)):
        talk(f"jsonl:///{path}", session, rounds)
    return path


def invoke(*arguments: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


def good(*arguments: str | Path) -> str:
    done = invoke(*arguments)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return done.stdout


def bad(code: int, *arguments: str | Path) -> str:
    done = invoke(*arguments)
    assert done.exit_code == code, done.output
    assert done.stderr.count("\n") == 1, "one line, and no traceback"
    assert done.stderr.startswith("backscroll: ")
    return done.stderr


def found(*arguments: str | Path) -> Any:
    return json.loads(good(*arguments, "--json"))


# -- looking --


def test_sessions_are_listed_in_the_order_of_their_beginning(place: str) -> None:
    rows = found("sessions", place)["sessions"]
    assert [(row["session"], row["messages"]) for row in rows] == [("alpha", 6), ("b/eta", 62), ("gamma", 2)]
    assert rows[1]["records"] > 62, "plans are records as well"
    shown = good("sessions", place)
    assert re.search(r"│ b/eta +│ +62 │ +\d+ │", shown)


def test_messages_of_a_session_are_found_without_reading_it() -> None:
    store = open_store(None)
    assert messages_of(store, "a") == 0
    for number in range(1, 70):
        ContextManager(session="a", store=store, tokenizer=len).append(message("user", str(number)))
        assert messages_of(store, "a") == number


def test_show_prints_references_and_no_control_characters(place: str) -> None:
    """A session is shown under its references and cannot steer the terminal."""
    shown = good("show", place, "alpha")
    assert shown.startswith("[ref:0] user  ")
    assert "-> read_log c1" in shown
    assert "<- c1\nlog 1 of alpha: all is well" in shown
    assert "are [bold]fine[/bold]\\x1b[31m." in shown
    assert "\x1b" not in shown
    assert shown.endswith("alpha: 6 messages\n")


def test_a_part_of_a_session_is_shown_with_what_became_of_it(place: str) -> None:
    shown = good("show", place, "b/eta", "--from", "3", "--to", "5")
    assert re.findall(r"^\[ref:(\d+)\]", shown, re.MULTILINE) == ["3", "4", "5"]
    assert re.search(r"^\[ref:3\] assistant .*, digested in the view \(digest\)$", shown, re.MULTILINE)
    assert shown.endswith("b/eta: 3 of 62 messages\n")


def test_a_plan_says_of_each_message_what_became_of_it_and_why(place: str) -> None:
    shown = good("show", place, "b/eta", "--plan")
    assert re.search(r"│ \[ref:0\] +│ user +│ whole +│ +\d+ │ the user's first message │", shown)
    assert re.search(r"│ \[ref:3\] +│ assistant +│ digested +│ +[\d,]+ │ digest +│", shown)
    told = found("show", place, "b/eta", "--plan")["messages"]
    assert [each["seq"] for each in told] == list(range(62))
    assert {each["state"] for each in told} >= {"whole", "digested"}


def test_a_plan_says_which_model_summarized_a_message(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    summary = SummaryResponse("All logs are fine.", "small-1", 900, 30)
    talk(f"sqlite:///{path}", "alpha", 30, summarizer=Summarizer(lambda _: summary, wait_seconds=30))
    by = f"digest, summarized by small-1, prompt {PROMPT}"
    reasons = {each["seq"]: each["reason"] for each in found("show", path, "alpha", "--plan")["messages"]}
    assert reasons[3] == by
    assert f"digested in the view ({by})" in good("show", path, "alpha", "--from", "3", "--to", "3")


def test_messages_as_json_are_those_that_were_added(place: str) -> None:
    kept = ContextManager(session="b/eta", store=open_store(places.address_of(place))).get_messages()
    shown = found("show", place, "b/eta", "--from", "10")
    assert (shown["session"], [each["message"] for each in shown["messages"]]) == ("b/eta", kept[10:])
    assert [each["ref"] for each in shown["messages"]] == [f"[ref:{seq}]" for seq in range(10, 62)]


def test_looking_changes_nothing(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for command in ("sessions", "verify"):
        good(command, folder)
    good("show", folder, "beta")
    good("search", folder, "logs")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_search_brings_passages_of_all_sessions_or_one(place: str) -> None:
    shown = good("search", place, "log 7")
    assert re.search(r"^b/eta \[ref:16\.0\] from character 0\nlog 7 of b/eta: all is well$", shown, re.MULTILINE)
    hits = found("search", place, "logs fine", "--session", "gamma")["hits"]
    assert [(hit["session"], hit["seq"]) for hit in hits] == [("gamma", 1), ("gamma", 0)]
    assert len(found("search", place, "well", "--session", "b/eta", "--limit", "3")["hits"]) == 3
    assert good("search", place, "zebra") == "nothing found\n"


# -- moving --


@pytest.mark.parametrize("target", ["b.db", "sqlite:///{}/b.db", "jsonl:///{}/b"])
def test_sessions_are_exported_to_another_store(place: str, tmp_path: Path, target: str) -> None:
    name = str(tmp_path / target) if "://" not in target else target.format(tmp_path)
    shown = good("export", place, name)
    assert shown.endswith(f"3 sessions to {name}\n")
    source, copy = (open_store(places.address_of(each)) for each in (place, name))
    assert copy.sessions() == ["alpha", "b/eta", "gamma"]
    assert all(list(copy.read(session)) == list(source.read(session)) for session in copy.sessions())
    assert "already exists" in bad(2, "export", place, name, "alpha")
    assert good("export", place, name, "alpha", "--as", "new").splitlines()[0].startswith("alpha as new: ")


def test_sessions_are_exported_to_a_file_and_brought_back(place: str, tmp_path: Path) -> None:
    file, copy = tmp_path / "all.jsonl", tmp_path / "copy.db"
    told = found("export", place, file)
    assert [(each["session"], each["as"]) for each in told["sessions"]] == [
        (name, name) for name in ("alpha", "b/eta", "gamma")
    ]
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert "already exists" in bad(2, "export", place, file)
    good("import", file, copy, "b/eta", "--as", "again")
    good("import", file, copy)
    source, brought = open_store(places.address_of(place)), SqliteStore(copy)
    assert brought.sessions() == ["again", "alpha", "b/eta", "gamma"]
    assert list(brought.read("again")) == list(brought.read("b/eta")) == list(source.read("b/eta"))
    assert "delete it first" in bad(2, "import", file, copy)
    assert "no session 'x' in the source; it has: 'alpha'" in bad(2, "import", file, copy, "x")
    assert "--as renames one session, but 3 are selected" in bad(2, "import", file, copy, "--as", "y")
    brought.close()


def test_an_export_can_go_through_a_pipe(folder: Path, tmp_path: Path) -> None:
    done = run("export", folder, "-", "alpha")
    assert done.returncode == 0
    (tmp_path / "piped").write_bytes(done.stdout)
    good("import", tmp_path / "piped", tmp_path / "b.db", "--as", "piped")
    assert "use only one" in bad(2, "export", folder, "-", "--json")


def test_a_damaged_export_is_refused_before_anything_is_written(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    good("export", folder, file)
    file.write_bytes(file.read_bytes()[:-200])
    assert re.search(r"all\.jsonl: .*export the sessions again", bad(1, "import", file, tmp_path / "b.db"))
    assert not (tmp_path / "b.db").exists()


def test_what_another_program_recorded_becomes_a_session(tmp_path: Path) -> None:
    session = [message("user", "Look."), message("assistant", "Done.")]
    claude = [{"type": each["role"], "message": each} for each in session]
    codex = [
        {"type": "response_item", "payload": {"type": "message", "role": each["role"], "content": each["content"]}}
        for each in session
    ]
    target = str(tmp_path / "b.db")
    for name, lines in {
        "context-messages": session,
        "transcript": [{"session": "line"}, *session],
        "claude": [{"type": "summary"}, *claude],
        "codex": [{"type": "session_meta", "payload": {}}, *codex],
    }.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert good("import", path, target).startswith(f"{path} as {name}: 2 messages\n")
        stored = [each["message"] for each in found("show", target, name)["messages"]]
        assert stored == ([{"type": "message", **each} for each in session] if name == "codex" else session)
        assert "already exists" in bad(2, "import", path, target)
    assert "omit SESSION" in bad(2, "import", path, target, "some")
    several = tmp_path / "several.json"
    several.write_text(json.dumps([{"messages": session}, {"messages": session[:1]}]))
    told = found("import", several, target, "--as", "two")["sessions"]
    assert [(each["as"], each["messages"]) for each in told] == [("two#1", 2), ("two#2", 1)]


def test_a_transcript_with_a_bad_message_leaves_no_session(tmp_path: Path) -> None:
    path, target = tmp_path / "t.jsonl", tmp_path / "b.db"
    lines = [message("user", str(at)) for at in range(250)]
    lines[-1]["content"] = {"nested": [[]]}
    for _ in range(300):
        lines[-1]["content"] = {"deep": lines[-1]["content"]}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = bad(2, "import", path, target)
    assert f"in {path}" in told
    assert SqliteStore(target).sessions() == []


# -- keeping --


def test_a_sound_store_verifies(place: str) -> None:
    assert good("verify", place) == "nothing is missing\n"
    assert found("verify", place) == {"problems": []}


def test_damage_of_json_lines_is_reported_with_its_place(folder: Path) -> None:
    path = folder / file_name("beta")
    lines = path.read_bytes().splitlines(keepends=True)
    number = next(number for number, line in enumerate(lines) if b'"kind":"message","seq":60,' in line)
    place, lines[number] = number - 1, lines[number].replace(b"well", b"will", 1)
    path.write_bytes(b"".join([*lines, b'{"at":']))
    assert f"line {number + 1}, byte" in bad(1, "show", folder, "beta")
    done = invoke("verify", folder)
    assert (done.exit_code, done.stderr) == (1, "")
    assert re.search(
        rf"^beta, place {place}: line {number + 1}, byte \d+: the record is not", done.stdout, re.MULTILINE
    )
    assert "never acknowledged" in done.stdout
    assert done.stdout.endswith("\n1 problem\n")
    told = json.loads(invoke("verify", folder, "--json").stdout)["problems"]
    assert [(each["session"], each["at"]) for each in told] == [("beta", place), ("beta", None)]
    assert [each["harmless"] for each in told] == [False, True]
    assert "pass --yes" in bad(2, "repair", folder)
    assert "cannot be repaired: restore the file from a backup" in bad(2, "repair", folder, "--yes")
    assert "use SQLite" in bad(2, "fork", folder, "alpha", "new")


def test_a_damaged_database_is_mended_as_well(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    talk(f"sqlite:///{place}", "alpha", 2)
    with sqlite3.connect(place) as connection:
        connection.execute("update record set body = x'00' where number = (select max(number) from record)")
    connection.close()
    assert re.search(
        r"^alpha, place \d+: the record is not what was written", invoke("verify", place).stdout, re.MULTILINE
    )
    mended = good("repair", place, "--yes")
    assert good("repair", place, "--yes") == "nothing to repair\n"
    assert ".recover" in mended
    assert f"the damaged one is {place}.damaged-1" in mended
    assert re.search(r"^alpha, place \d+: lost: ", mended, re.MULTILINE)
    assert good("verify", place) == "nothing is missing\n"


def test_no_password_is_printed(folder: Path, tmp_path: Path) -> None:
    secret = "postgresql://me:secret@127.0.0.1:1/x?connect_timeout=1"
    for arguments in (("sessions", secret), ("export", folder, secret), ("import", folder, secret)):
        assert "secret" not in bad(2, *arguments)


def test_what_a_store_cannot_do_is_said(tmp_path: Path) -> None:
    store: Store = open_store(None)
    told = bad(2, "verify", "memory:")
    assert (type(store).__name__ in told, "cannot verify" in told) == (True, True)
    assert "cannot repair: restore it from a backup" in bad(2, "repair", "memory:", "--yes")


def test_a_fork_shares_the_past_and_an_erasure_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "a.db"
    for session, rounds in (("alpha", 2), ("beta", 30)):
        talk(f"sqlite:///{folder}", session, rounds)
    kept = found("show", folder, "alpha")["messages"]
    assert re.fullmatch(r"new: shares \d records with alpha\n", good("fork", folder, "alpha", "new", "--at", "2"))
    shared = found("show", folder, "new")["messages"]
    assert [each["message"] for each in shared] == [each["message"] for each in kept[:3]]
    assert "exists already" in bad(2, "fork", folder, "alpha", "beta")
    assert "no message 99" in bad(2, "fork", folder, "alpha", "newer", "--at", "99")
    assert "its forks ['new']: delete them first" in bad(2, "delete", folder, "alpha", "--yes")
    assert found("delete", folder, "alpha", "--yes", "--cascade") == {"deleted": ["alpha", "new"]}
    assert [row["session"] for row in found("sessions", folder)["sessions"]] == ["beta"]


def test_nothing_is_erased_without_being_meant(place: str) -> None:
    assert "pass --yes" in bad(2, "delete", place, "alpha")
    assert good("delete", place, "alpha", "--yes") == "deleted: alpha\n"
    assert "no session 'alpha' in this store; it has: 'b/eta', 'gamma'" in bad(2, "delete", place, "alpha", "--yes")


# -- bad input --


@pytest.mark.parametrize(
    "command", [("sessions",), ("show", "a"), ("search", "a"), ("verify",), ("delete", "a", "--yes")]
)
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing.db", "no store there: .*missing.db does not exist"),
        ("sqlite:///missing.db", "no store there: .*missing.db does not exist"),
        ("jsonl:///missing", "no store there: .*missing does not exist"),
        ("missing", "no such file or folder; .*sqlite:///relative/path.db"),
        ("notes.txt", "this file is not a database; .*jsonl:///folder"),
        ("redis://here", "has an unknown scheme: 'redis://here'; use one of"),
        ("sqlite://a.db", "write it as sqlite:///relative"),
    ],
)
def test_what_is_no_store_is_refused_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("a letter")
    assert re.search(told, bad(2, command[0], name, *command[1:]))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_missing_session_is_reported_with_the_existing_ones(folder: Path) -> None:
    """A session that is not there is named next to those that are."""
    for command in (("show",), ("fork",), ("delete",)):
        more = ("new",) if command == ("fork",) else ()
        assert "no session 'x' in this store; it has: 'alpha', 'beta'" in bad(2, *command, folder, "x", *more)
    assert "no session 'x'" in bad(2, "search", folder, "word", "--session", "x")
    assert "has a control character" in bad(2, "show", folder, "a\nb")
    assert "no session 'x'" in bad(2, "export", folder, "y.jsonl", "x")


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a letter")
    assert "no such file" in bad(2, "import", tmp_path / "missing", tmp_path / "b.db")
    assert "notes.txt: line 1" in bad(2, "import", tmp_path / "notes.txt", tmp_path / "b.db")


# -- real processes --


def run(*arguments: str | Path) -> "subprocess.CompletedProcess[bytes]":
    line = [sys.executable, "-W", "error", "-m", "backscroll.cli.main", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, timeout=60, check=False)


def test_the_program_ends_with_the_exit_code(folder: Path) -> None:
    assert run("verify", folder).returncode == 0
    (folder / file_name("alpha")).unlink()
    done = run("sessions", folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"commits were acknowledged and the file has none" in done.stderr
    assert run("show", folder, "nobody").returncode == 1
    assert run("show", folder.parent / "nothing", "nobody").returncode == 2


def test_terminal_of_80_columns_shows_a_bar_and_whole_lines(folder: Path, tmp_path: Path) -> None:
    """A terminal of 80 columns sees a bar and no line that is cut."""
    shown = on_a_terminal("export", folder, tmp_path / "b.db")
    assert "records" in shown
    assert "━" in shown
    assert "2 sessions to" in shown
    table = on_a_terminal("show", folder, "beta", "--plan")
    rows = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", row) for row in table.splitlines()]
    assert max(map(len, rows)) <= 80
    assert sum("[ref:" in row for row in rows) == 62


# -- what is around a store --


def test_import_encrypts_what_it_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a transcript and from an exported file: the store's key is that of the environment."""
    transcript, database, again = tmp_path / "t.json", tmp_path / "agent.db", tmp_path / "again.db"
    transcript.write_text(json.dumps([{"role": "user", "content": "The word is xylophone."}]))
    monkeypatch.setenv("BACKSCROLL_ENCRYPTION_KEY", "A" * 43 + "=")
    good("import", transcript, database)
    good("export", database, tmp_path / "plain.jsonl")
    good("import", tmp_path / "plain.jsonl", again)
    for file in (database, again):
        assert found("show", file, "t")["messages"][0]["message"]["content"] == "The word is xylophone."
    assert b"xylophone" in (tmp_path / "plain.jsonl").read_bytes()
    for path in (*tmp_path.glob("agent.db*"), *tmp_path.glob("again.db*")):
        assert not path.is_file() or b"xylophone" not in path.read_bytes()
    monkeypatch.delenv("BACKSCROLL_ENCRYPTION_KEY")
    assert "give the `encryption_key`" in bad(2, "show", database, "t")


def test_an_encrypted_store_with_its_large_messages_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, blobs, database = "A" * 43 + "=", tmp_path / "blobs", tmp_path / "agent.db"
    added = talk(f"sqlite:///{database}", "s", 3, storage=StorageOptions(str(blobs), 0, key))
    assert "give the `blob_store`" in bad(2, "show", database, "s")
    monkeypatch.setenv("BACKSCROLL_BLOBS", str(blobs))
    assert "give the `encryption_key`" in bad(2, "show", database, "s")
    monkeypatch.setenv("BACKSCROLL_ENCRYPTION_KEY", key)
    assert [each["message"] for each in found("show", database, "s")["messages"]] == added
    assert [each["session"] for each in found("sessions", database)["sessions"]] == ["s"]
    good("export", database, f"jsonl:///{tmp_path}/plain")
    good("delete", database, "s", "--yes")
    assert not [path for path in blobs.rglob("*") if path.is_file() and path.stat().st_size > 300]
    for name in ("BACKSCROLL_BLOBS", "BACKSCROLL_ENCRYPTION_KEY"):
        monkeypatch.delenv(name)
    assert [each["message"] for each in found("show", f"jsonl:///{tmp_path}/plain", "s")["messages"]] == added
