"""What `--redact` takes out of imported logs."""

import json
import re
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.cli.mcp.log_files import log_files
from backscroll.cli.mcp.log_import import LogImport
from backscroll.cli.redaction.options import KINDS as NAMED
from backscroll.cli.redaction.redaction import Redaction
from backscroll.cli.redaction.secret_patterns import KINDS
from backscroll.errors import CorruptionError
from backscroll.integrations.mcp import Archive
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.notices import BackscrollWarning
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.cli.commands import invoke
from tests.integrations.mcp.asking import PATIENCE, asking, stored, user
from tests.integrations.mcp.interleaved import Interleaved
from tests.integrations.mcp.logs import item, meta, said, spoken, write
from tests.profiles import examples

SECRETS = {
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nABCD==\n-----END RSA PRIVATE KEY-----",
    "Anthropic": "sk-" + "ant-api03-abcdefghij0123456789-_abcdef",
    "OpenAI": "sk-" + "proj-abcdefghij0123456789ABCDEFG",
    "Stripe": "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "Google": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "GitHub, fine": "github_pat_" + "11ABCDEFG0abcdefghij_klmnop",
    "GitLab": "glpat-" + "abcdefghij0123456789",
    "Slack": "xoxb-" + "123456789012-abcdefghij",
    "Hugging Face": "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "npm": "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmcCJGFiY2RlZmdoaWprbG1ub3BxcnN0dXY",
    "JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}
KEY = SECRETS["Anthropic"]


def imported(store, folder, *redaction):
    """Import once as a process with this redaction does."""
    made = LogImport(store, lambda: log_files([("", str(folder))]), Redaction(*redaction))
    for _ in made(StoreIndex(store)):
        pass
    return made


def whole(store):
    """Every record of a store as one text."""
    return "".join(str(store.read(name)) for name in store.sessions())


def texts(store, session):
    with ContextManager(store=store, session=session) as context:
        return [message["content"] for message in context.get_messages()]


def archive(store, folder, *redaction):
    chosen = Redaction(*redaction)
    feed = LogImport(store, lambda: log_files([("", str(folder))]), chosen)
    return Archive(store, feed=feed, redaction=chosen.marks, patience=PATIENCE)


@pytest.mark.parametrize("name", SECRETS)
def test_known_secrets_are_taken_out_and_their_place_is_kept(name):
    found = Redaction(["secrets"]).text(f"before {SECRETS[name]} after")
    assert re.fullmatch(r"before \[redacted: [\w ]+\] after", found), found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [redacted: token]"),
        ('{"authorization": "Basic YWJjOmRlZg=="}', '{"authorization": "Basic [redacted: token]"}'),
        ("postgres://me:hunter2@host/db", "postgres://me:[redacted: password]@host/db"),
        ("DB_PASSWORD=hunter2hunter2\nNEXT=1", "DB_PASSWORD=[redacted: value]\nNEXT=1"),
        ('export GITHUB_TOKEN="abcdefgh1"', 'export GITHUB_TOKEN="[redacted: value]"'),
        ('"env": "A_SECRET_KEY=abcdefgh1\\nB=2"', '"env": "A_SECRET_KEY=[redacted: value]\\nB=2"'),
        ("-----BEGIN PRIVATE KEY-----\nMII, cut here", "[redacted: private key]"),
    ],
)
def test_only_the_secret_of_what_names_it_is_taken_out(text, left):
    assert Redaction(["secrets"]).text(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "task-abcdefghijklmnopqrstuvwxyz01", "risk-free", "sk-learn-is-a-nickname-of-a-package", "TOKEN=$GITHUB_TOKEN",
        "token = tokens[0]; password: str = field()", "https://host:8080/path@2", "PASSWORD=${PASSWORD}", "AKIAIO",
        "MAX_TOKENS=4096", "hf_hub_download", "a@b", "-----BEGIN CERTIFICATE-----", "TOKEN=", "xoxo",
    ],
)  # fmt: skip
def test_code_and_prose_are_left_as_they_are(text):
    assert Redaction(["secrets"]).text(text) == text


def test_mail_addresses_are_taken_out_on_demand():
    assert Redaction(["emails"]).text("to Jane.Doe+x@mail.example.org, soon") == "to [redacted: email], soon"
    assert Redaction(["secrets"]).text("jane@example.org") == "jane@example.org"


def test_of_a_pattern_with_a_group_only_the_group_is_taken_out():
    assert Redaction([], [r"ticket (\d+)"]).text("ticket 4711, 4711") == "ticket [redacted], 4711"
    assert Redaction([], ["x*"]).text("axxb") == "a[redacted]b"


@settings(max_examples=examples(60))
@given(st.recursive(st.text(max_size=8) | st.integers() | st.none(), lambda some: st.lists(some, max_size=3)
       | st.dictionaries(st.text(max_size=8), some, max_size=3)), st.sampled_from(list(SECRETS.values())))  # fmt: skip
def test_no_place_in_a_message_holds_what_is_redacted(value, secret):
    message = {
        "role": "user",
        "type": secret,
        "content": [value, {"type": "text", "text": f"a {secret} b", secret: [secret]}],
    }
    left = json.dumps(Redaction(["secrets"]).message(message))
    assert json.dumps(secret)[1:-1] not in left
    assert json.loads(left)["role"] == "user"
    assert json.loads(left)["content"][1]["type"] == "text"


def test_a_message_keeps_its_form_under_any_pattern():
    message = {"role": "user", "content": [{"type": "text", "text": "user text"}]}
    left = Redaction([], ["user|text|e"]).message(message)
    assert left == {"role": "user", "content": [{"type": "text", "text": "[redacted] [redacted]"}]}


@pytest.mark.parametrize(
    "unit", ["a", "eyJ", "sk-", "AKIA", "a@", "://a:", "TOKEN=", "x.", "-----BEGIN ", "authorization: "]
)
def test_long_texts_are_searched_in_linear_time(unit):
    """A pattern that goes back for each character would need minutes for these."""
    text, found = unit * (400_000 // len(unit)), []
    thread = threading.Thread(target=lambda: found.append(Redaction(["secrets", "emails"]).text(text)), daemon=True)
    thread.start()
    thread.join(20)
    assert found


def test_a_message_too_deep_for_any_store_is_left_out(tmp_path):
    store = MemoryStore()
    deep = "[" * 400 + "]" * 400
    write(tmp_path / "s.jsonl", said("user", "one"), said("user", "X").replace('"X"', deep), said("user", KEY))
    with pytest.warns(BackscrollWarning, match="left out"):
        imported(store, tmp_path, ["secrets"])
    assert texts(store, "claude-code/s") == ["one", "[redacted: API key]"]


def test_what_is_redacted_reaches_neither_store_nor_answer(tmp_path):
    store, call = (
        SqliteStore(tmp_path / "agent.db"),
        {"type": "tool_use", "id": "t", "name": "Run", "input": {KEY: KEY}},
    )
    write(
        tmp_path / "logs" / f"jane@example.org {KEY}.jsonl",
        said("user", f"My key is {KEY}, my mail jane@example.org.", project=f"/home/me/{KEY}"),
        said("assistant", [{"type": "text", "text": KEY}, {"type": "thinking", "thinking": KEY}, call]),
        said("user", [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": KEY}]}]),
    )
    output = {"type": "function_call_output", "call_id": "c", "output": f"printed {KEY}"}
    arguments = {"type": "function_call", "call_id": "c", "name": "shell", "arguments": json.dumps({"cmd": KEY})}
    source = {"subagent": {"thread_spawn": {"parent_thread_id": KEY}}}
    begin = meta("x", f"/w/{KEY}", source=source)
    write(tmp_path / "logs" / "rollout-x.jsonl", begin, spoken("user", KEY), item(arguments), item(output))
    with asking(archive(store, tmp_path / "logs", ["secrets", "emails"])) as client:
        answers = [client.text("sessions"), client.text("search", query="key mail printed redacted")]
        answers += [client.text("read", session=name) for name in store.sessions()]
        answers += [client.do("get_prompt", "continue", {"session": store.sessions()[0]}).model_dump_json()]
    data = b"".join(path.read_bytes() for path in tmp_path.glob("agent.db*") if path.is_file())
    data += b"".join(path.read_bytes() for path in tmp_path.glob("agent.db-*/*"))
    for secret in (KEY, "jane@example.org"):
        assert secret not in "".join(answers) + whole(store)
        assert secret.encode() not in data
    assert "[redacted: API key]" in "".join(answers)


def test_an_import_without_redaction_stores_what_was_written(tmp_path):
    store = MemoryStore()
    write(tmp_path / "s.jsonl", said("user", KEY))
    imported(store, tmp_path)
    assert texts(store, "claude-code/s") == [KEY]
    assert "redaction" not in whole(store)


def test_more_redaction_imports_again_and_leaves_nothing(tmp_path):
    store = SqliteStore(tmp_path / "agent.db")
    log = write(tmp_path / "logs" / "s.jsonl", said("user", f"{KEY} of me@example.org"))
    write(log, said("assistant", "side", uuid="u", isSidechain=True, agentId="a"), append=True)
    imported(store, tmp_path / "logs")
    assert len(store.sessions()) == 2
    imported(store, tmp_path / "logs", ["secrets"])
    assert texts(store, "claude-code/s") == ["[redacted: API key] of me@example.org"]
    assert texts(store, "claude-code/s/side-1") == ["side"]
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("agent.db*") if path.is_file())
    assert imported(store, tmp_path / "logs", ["secrets"]).bytes_read == 0


def test_less_redaction_changes_nothing_that_is_stored(tmp_path):
    """Else two servers with other options would import the same logs in turns, without an end."""
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", f"{KEY} one"))
    imported(store, tmp_path, ["secrets"])
    assert imported(store, tmp_path).bytes_read == 0
    write(log, said("user", f"{KEY} two"), append=True)
    imported(store, tmp_path)
    assert texts(store, "claude-code/s") == ["[redacted: API key] one", "[redacted: API key] two"]
    imported(store, tmp_path, ["emails"])
    assert imported(store, tmp_path, ["secrets"]).bytes_read == 0, "it was imported with both"
    assert texts(store, "claude-code/s") == ["[redacted: API key] one", "[redacted: API key] two"]


def test_a_pattern_not_at_hand_stops_the_import_of_a_log(tmp_path):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", "zanzibar one"))
    imported(store, tmp_path, [], ["zanzibar"])
    assert "zanzibar" not in whole(store)
    write(log, said("user", "zanzibar two"), append=True)
    with pytest.warns(BackscrollWarning, match="with another redaction"):
        imported(store, tmp_path, ["emails"])
    assert "zanzibar" not in whole(store)
    imported(store, tmp_path, [], ["zanzibar"])
    assert texts(store, "claude-code/s") == ["[redacted] one", "[redacted] two"]


def test_sessions_with_less_redaction_are_hidden(tmp_path):
    store = MemoryStore()
    log = write(tmp_path / "s.jsonl", said("user", f"{KEY} needle"))
    stored(store, "agent", user("needle of an agent"))
    imported(store, tmp_path)
    log.unlink()
    with asking(archive(store, tmp_path, ["secrets"])) as client:
        found = client.text("search", query="needle")
        assert KEY not in found
        assert "needle of an agent" in found
        assert "Sessions that were imported with less redaction, left out: 1." in found
        assert "there is no session 'claude-code/s'" in client.error("read", session="claude-code/s")
        assert [each.name for each in client.do("list_resources").resources] == ["agent"]


def test_a_session_with_forks_is_hidden_and_not_deleted(tmp_path):
    store = MemoryStore()
    write(tmp_path / "s.jsonl", said("user", f"{KEY} needle"))
    imported(store, tmp_path)
    with ContextManager(store=store, session="claude-code/s") as context:
        context.fork("mine").close()
    with pytest.warns(BackscrollWarning, match="hidden and not deleted|with another redaction"):
        imported(store, tmp_path, ["secrets"])
    assert texts(store, "mine") == [f"{KEY} needle"]
    with pytest.warns(BackscrollWarning), asking(archive(store, tmp_path, ["secrets"])) as client:
        assert "left out: 2." in client.text("sessions")


class Damaged(MemoryStore):
    """Cannot delete one of its sessions."""

    def delete(self, session, cascade=False):
        if session == "claude-code/s1":
            raise CorruptionError("its length is damaged")
        super().delete(session, cascade)


def test_a_session_that_cannot_be_deleted_stops_no_other(tmp_path):
    store = Damaged()
    for number in range(3):
        write(tmp_path / f"s{number}.jsonl", said("user", f"{KEY} needle {number}"))
    imported(store, tmp_path)
    with pytest.warns(BackscrollWarning, match="its length is damaged|with another redaction"):
        imported(store, tmp_path, ["secrets"])
    assert texts(store, "claude-code/s0") == ["[redacted: API key] needle 0"]
    assert texts(store, "claude-code/s2") == ["[redacted: API key] needle 2"]


@pytest.mark.long
def test_two_servers_that_redact_at_any_moments_import_once(tmp_path):
    number, left = 0, 0
    while left <= 0:
        number += 1
        place, logs = tmp_path / f"{number}.db", tmp_path / f"logs{number}"
        write(logs / "s.jsonl", said("user", f"{KEY} one"), said("assistant", "two"))
        other = SqliteStore(place)
        imported(other, logs)
        store = Interleaved(place, number, lambda other=other, logs=logs: imported(other, logs, ["secrets"]))  # type: ignore[misc]  # mypy infers no lambda with defaults
        imported(store, logs, ["secrets"])
        imported(store, logs, ["secrets"])
        left = store.left
        assert texts(other, "claude-code/s") == ["[redacted: API key] one", "two"], number
        for each in (store, other):
            each.close()
    assert number > 10


def test_the_command_says_what_it_redacts():
    assert list(KINDS) == list(NAMED)
    for arguments, what in (
        (["--redact", "keys"], "'keys' is not known; choose from secrets, emails"),
        (["--redact-pattern", "("], "'(' is not a regular expression: missing )"),
        (["--redact", "secrets"], "use them with --import or --folder"),
    ):
        found = invoke("mcp", "agent.db", *arguments)
        assert found.exit_code == 2
        assert what in found.stderr.replace("\n", " ")
