"""The inspector's figures: sessions of a store, times, prices, words, and the size of an export."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from backscroll import ContextManager
from backscroll.cli.inspect.data import StoreInspector
from backscroll.cli.inspect.export import page as exported
from backscroll.cli.inspect.money import Money, read_prices
from backscroll.cli.inspect.server import page_file
from backscroll.cli.inspect.times import time_of
from backscroll.errors import ConfigurationError
from backscroll.notices import BackscrollWarning
from backscroll.ports import LOST, Record
from backscroll.stores.memory import MemoryStore
from backscroll.tokens.known_models import Prices
from tests.cli.browsing import needs_chromium
from tests.cli.commands import app
from tests.cli.inspected import inspect_session, unpacked
from tests.fakes import count_quarter
from tests.session.worker import Worker

ROOT = Path(__file__).resolve().parents[2]
FOREVER = float("inf")
MODEL = "claude-opus-5-5"


def session_of(store, name, *times, lane=MODEL, cached=None):
    """A stored session with a request for each message, which names the time given; `cached`: tokens of each that the
    provider read from its cache, and wrote all others to it.
    """
    manager = ContextManager(session=name, store=store, budget=2_000, tokenizer=count_quarter, overhead_tokens=0)
    for time in times:
        noted = {"metadata": {"log": {"time": time}}} if time else {}
        manager.append({"role": "user", "content": "hello " * 20, **noted})
        manager.get_messages_for_request(lane=lane)
        if cached is not None:
            written = manager.usage(lane).used.tokens - cached
            manager.observe_usage(
                input_tokens=0, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=9, lane=lane
            )
    return manager


def rows(store, money=None):
    return {row["name"]: row for row in StoreInspector(store, "s.db", money).overview(FOREVER)["sessions"]}


def test_overview_lists_each_session_with_its_figures():
    worker, inspected = inspect_session()
    found = inspected.overview(FOREVER)
    assert (found["title"], found["done"]) == ("<i>store</i>.db", True)
    row, other = found["sessions"]
    requests = worker.manager.list_requests()
    assert (row["name"], row["requests"], row["messages"]) == ("s", len(requests), len(worker.manager.get_messages()))
    assert row["compactions"] == sum(each.compacted for each in requests) > 2
    assert row["sent"] == sum(each.tokens for each in requests)
    assert (other["name"], other["requests"], other["messages"], other["tokens"]) == ("<b>other</b>", 0, 1, 1)
    assert (row["cost"], row["unpriced"], row["first"], row["last"]) == (None, len(requests), "", "")


def test_overview_continues_where_its_time_ended():
    """Each call works for a bounded time; what an agent adds, and a session that begins again, are found."""
    store = MemoryStore()
    worker = Worker("openai", store)
    for _ in range(3):
        worker.step()
    worker.restart()
    inspected = StoreInspector(store, "s.db")
    assert inspected.overview(0)["sessions"] == [{"name": "s", "reading": True}]
    assert inspected.overview(FOREVER)["sessions"][0]["requests"] == 3
    worker.step()
    worker.restart()
    assert inspected.overview(FOREVER)["sessions"][0]["requests"] == 4
    store.delete("s")
    session_of(store, "s", "", lane="main").close()
    assert inspected.overview(FOREVER)["sessions"][0]["requests"] == 1


def test_overview_names_refusals_failures_and_losses():
    store = MemoryStore()
    manager = session_of(store, "s", "", "")
    manager.observe_overflow(lane=MODEL)
    with pytest.warns(BackscrollWarning, match="refused a request"):
        manager.close()
    store.append("s", store.length("s"), [Record(LOST, None, b"a page was torn", 0)]).result()
    assert rows(store)["s"]["troubles"] == {"refused": 1, "lost": 1}
    found = StoreInspector(store, "s.db").session("s").steps(0, FOREVER)
    (refused, lost) = found["troubles"]
    assert refused.text.startswith(f"the provider refused a request of lane {MODEL}, of ")
    assert (lost.kind, lost.text) == ("lost", "a page was torn")
    at = StoreInspector(store, "s.db").session("s").requests(0)[-1][0]
    assert at < refused.at < lost.at  # the page names the request before it


def test_overview_shows_a_damaged_session_as_corrupt():
    store = MemoryStore()
    session_of(store, "good", "").close()
    session_of(store, "bad", "").close()
    store.append("bad", store.length("bad"), [Record("request", None, b"{", 3)]).result()
    session_of(store, "later", "").close()
    found = rows(store)
    assert [row["requests"] for row in found.values()] == [1, 1, 1]
    assert [row["troubles"] for row in found.values()] == [{}, {"corrupt": 1}, {}]


# -- times --


@pytest.mark.parametrize(
    ("message", "time"),
    [
        ({"metadata": {"log": {"time": "2026-11-02T09:00:00+02:00"}}}, "2026-11-02T07:00:00Z"),
        ({"metadata": {"timestamp": "2026-11-02T09:00:00.123Z"}}, "2026-11-02T09:00:00Z"),
        ({"timestamp": 1_700_000_000}, "2023-11-14T22:13:20Z"),
        ({"timestamp": "yesterday", "metadata": "none"}, ""),
        ({"timestamp": True}, ""),
        ({"timestamp": 1e300}, ""),
        ({"metadata": {"log": {"time": ["x"]}}}, ""),
    ],
)
def test_time_of_a_message_is_what_it_says_itself(message, time):
    assert time_of(message) == time


def test_times_are_those_of_messages_and_never_made_up():
    store = MemoryStore()
    session_of(store, "s", "2026-11-02T09:00:00Z", "", "2026-11-02T08:00:00Z").close()
    row = rows(store)["s"]
    assert (row["first"], row["last"]) == ("2026-11-02T08:00:00Z", "2026-11-02T09:00:00Z")
    steps = StoreInspector(store, "s.db").session("s").steps(0, FOREVER)["steps"]
    assert [step[4] for step in steps] == ["2026-11-02T09:00:00Z", None, "2026-11-02T08:00:00Z"]


# -- money --


def test_cost_is_that_of_the_prices_and_never_guessed():
    money = Money()
    assert money.cost(MODEL, 1_000_000) == 4
    assert money.cost(MODEL, 1_000_000, 500_000, 250_000, 10_000) == pytest.approx(1 + 0.1 + 1.25 + 0.2)
    assert money.cost("main", 1_000) is None
    assert money.cost(f"{MODEL}-turbo", 1_000) is None  # only begins like a known model
    assert Money(MODEL).cost("main", 1_000_000) == 4
    assert Money("gpt-4o").cost(MODEL, 1_000_000) == 4  # the lane's own name comes first
    assert money.cost("claude-haiku-5-5", 100_001) is None  # its price above that is not known
    given = Money(None, Prices(1, 2))
    assert given.of("main") == ("--prices", Prices(1, 2))
    assert given.cost("main", 1_000, read=1) is None
    assert given.forecast("main", 1_000_000, 900_000, None) == 1  # no cache is offered
    assert money.forecast(MODEL, 1_000_000, 500_000, None) == pytest.approx(0.1 + 2.5)


def test_requests_cost_what_was_reported_and_else_the_forecast():
    store = MemoryStore()
    session_of(store, "told", "", cached=10).close()
    session_of(store, "silent", "", "").close()
    inspected = StoreInspector(store, "s.db")
    told, silent = (inspected.session(name) for name in ("told", "silent"))
    tokens = told.requests(0)[0][8]
    paid = (10 * 0.2 + (tokens - 10) * 5 + 9 * 20) / 1_000_000
    assert [row[-1] for row in told.requests(0)] == [pytest.approx(paid)]
    assert [row[-1] for row in silent.requests(0)] == [None, None]
    found = silent.steps(0, FOREVER)
    assert [step[3] for step in found["steps"]] == [
        pytest.approx((step[2] * 0.2 + (sum(step[5:]) - step[2]) * 5) / 1_000_000) for step in found["steps"]
    ]
    assert found["prices"][MODEL][0] == MODEL
    shown = rows(store)
    assert shown["told"]["cost"] == pytest.approx(paid)
    assert (shown["silent"]["unreported"], shown["silent"]["unpriced"]) == (2, 0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("input = 1", "'output' is missing"),
        ("input = 1\noutput = 2\nread = 1", "'read' is not a price; use input, output, cache_read, cache_write"),
        ("input = -1\noutput = 2", "'input' must be dollars per million tokens"),
        ("input = true\noutput = 2", "'input' must be dollars per million tokens"),
        ("input", "not valid TOML or JSON"),
    ],
)
def test_prices_that_cannot_be_used_are_named(text, why, tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=re.escape(why)):
        read_prices(str(path))
    done = CliRunner().invoke(app, ["inspect", str(tmp_path), "--prices", str(path), "--export", "x.html"])
    assert (done.exit_code, why in done.output.replace("\n", " ")) == (2, True), done.output


def test_prices_of_a_file_are_used(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text("input = 1\noutput = 2\ncache_read = 0.5")
    assert read_prices(str(path)) == Prices(1, 2, 0.5)


# -- words --


def test_words_of_the_page_are_those_of_the_glossary():
    words = json.loads(page_file("words.js").partition("const WORDS = ")[2].rstrip(";\n"))
    glossary = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    known = {name.strip("`"): said for name, said in re.findall(r"^\| (\S.*?) \| (.*) \|$", glossary, re.MULTILINE)}
    shared = words.keys() & known.keys()
    assert shared >= {"session", "lane", "request", "plan", "compaction", "digest", "budget", "overhead", "upper bound"}
    assert {word: words[word] for word in shared} == {word: known[word] for word in shared}
    used = {
        *re.findall(r'term\("([^"]+)"', "".join(map(page_file, ("requests.js", "bill.js", "request.js")))),
        *re.findall(r'\["([a-z ]+)", [`"]', page_file("bill.js")),
        *re.findall(r'^  \["([a-z ]+)", ', page_file("requests.js") + page_file("sessions.js"), re.MULTILINE),
    }
    assert {"tokens", "cost", "went wrong", "upper bound"} <= used
    assert used <= words.keys()


# -- the export --


def test_export_stores_a_message_of_many_requests_once():
    _, inspected = inspect_session(30)
    data = unpacked(exported(inspected, ["s"], lambda _: None))
    texts = [json.dumps(message) for message in data["messages"]]
    assert len(set(texts)) == len(texts) > 60
    (session,) = data["sessions"]
    assert {type(line[9]) for line in session["pool"]} == {int, type(None)}
    assert {type(kept[4]) for kept in session["kept"]} == {int}
    lines = [len(inspected.session("s").sent(at).lines) for at, *_ in session["requests"]]
    assert sum(map(len, session["lines"])) < sum(lines) / 2


# -- the pictures of the documents --


@pytest.mark.long
@needs_chromium
def test_pictures_of_the_documents_can_be_drawn():
    command = [sys.executable, "docs/draw_inspector.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_pictures_of_the_documents_are_there_and_small():
    page = (ROOT / "docs/guides/inspector.md").read_text(encoding="utf-8")
    named = {
        (ROOT / "docs/guides" / name).resolve() for name in re.findall(r"[(\"](\S*pictures/inspector-\w+\.png)", page)
    }
    pictures = set((ROOT / "docs/pictures").glob("inspector-*.png"))
    assert named == pictures != set()
    assert sum(path.stat().st_size for path in pictures) < 400_000
