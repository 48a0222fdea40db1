"""The inspector: who may ask, what is answered, and the page as a person meets it, with hostile messages in it."""

import asyncio
import json
import re
import warnings
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from backscroll import ContextManager
from backscroll.cli.inspect.data import StoreInspector
from backscroll.cli.inspect.export import page as exported
from backscroll.cli.inspect.money import Money
from backscroll.cli.inspect.server import HEADERS, application
from backscroll.ports import Record
from backscroll.stores.memory import MemoryStore
from tests.cli.browsing import DONE, Browser, needs_chromium, served
from tests.cli.commands import app
from tests.cli.inspected import inspect_session, unpacked, work_for
from tests.fakes import count_quarter
from tests.present import present
from tests.session.worker import Worker

TOKEN, PORT = "t0ken", 8_000


def answers(inspected, *asked, host=f"127.0.0.1:{PORT}", method="GET"):
    async def main():
        transport = httpx.ASGITransport(application(inspected, TOKEN, PORT))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}") as client:
            return [await client.request(method, each, headers={"Host": host}) for each in asked]

    return asyncio.run(main())


def told(inspected, what, **given):
    (answer,) = answers(inspected, httpx.URL(f"/{TOKEN}/data/{what}", params=given))
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    "path", ["/", "/data/sessions", "/wrong/", f"/{TOKEN}", f"/{TOKEN}x/", f"//{TOKEN}x/data/sessions"]
)
def test_request_without_the_token_is_refused(path):
    _, inspected = inspect_session(1)
    (answer,) = answers(inspected, path)
    assert (answer.status_code, "s" in answer.text.split()) == (403, False)
    assert answer.headers["Content-Security-Policy"] == HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:81", "127.0.0.1.evil:8000", ""]
)
def test_request_under_a_foreign_host_name_is_refused(host):
    _, inspected = inspect_session(1)
    assert answers(inspected, f"/{TOKEN}/data/sessions", host=host)[0].status_code == 421
    assert answers(inspected, f"/{TOKEN}/data/sessions", host=f"localhost:{PORT}")[0].status_code == 200


def test_nothing_can_be_changed_and_everything_has_the_headers():
    _, inspected = inspect_session(1)
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert answers(inspected, f"/{TOKEN}/data/sessions", method=method)[0].status_code == 405
    for answer in answers(
        inspected,
        *(f"/{TOKEN}/{name}" for name in ("", "page.js", "page.css", "no", "data/requests?session=s")),
    ):
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert present(re.search(r"script-src ([^;]*)", policy))[1] == "'self'"


@pytest.mark.parametrize(
    ("asked", "status", "error"),
    [
        ("requests?session=nobody", 404, "there is no such session"),
        ("request?session=s&at=-1", 400, "`at` must be a number, not '-1'"),
        ("request?session=s", 400, "`at` must be a number"),
        ("request?session=s&at=0", 409, "no request is at position 0"),
    ],
)
def test_missing_data_is_answered_with_its_reason(asked, status, error):
    _, inspected = inspect_session(1)
    (answer,) = answers(inspected, f"/{TOKEN}/data/{asked}")
    assert answer.status_code == status
    assert error in answer.json()["error"]


def test_data_lists_what_was_sent_moved_and_left_out():
    worker, inspected = inspect_session()
    assert [each["name"] for each in told(inspected, "sessions")["sessions"]] == ["s", "<b>other</b>"]
    requests = told(inspected, "requests", session="s", start=0)
    assert len(requests) == 61
    steps = told(inspected, "steps", session="s", known=0)
    assert list(dict.fromkeys(each[0] for each in steps["steps"])) == [each[0] for each in requests]
    newest, moves = {}, 0
    for number, (at, lane, *_) in enumerate(requests[:-1]):
        before = newest.get(lane)
        found = told(
            inspected, "request", session="s", at=at, **({} if before is None else {"before": requests[before][0]})
        )
        assert [line[9] for line in found["lines"] if line[9] is not None] == worker.sent[number]
        earlier = worker.sent[before] if before is not None else []
        assert (found["moved"] is None) == (worker.sent[number][: len(earlier)] == earlier)
        if found["moved"] is not None:
            moves += 1
            same = found["moved"]["message"]
            assert worker.sent[number][:same] == earlier[:same]
            assert worker.sent[number][same] != earlier[same]
            text = json.dumps(worker.sent[number][same], ensure_ascii=False)
            assert "".join(found["moved"]["text"]) == text
            assert json.dumps(earlier[same], ensure_ascii=False).startswith(found["moved"]["text"][0])
        newest[lane] = number
    assert moves > 2
    gap = next(line for line in found["lines"] if line[0] == "left out")
    left = told(inspected, "left_out", session="s", at=at, first=gap[2], last=gap[3])
    assert left[0][0] == gap[2]
    assert [message for *_, message in left] == worker.manager.get_messages()[gap[2] : gap[3] + 1][:100]


def test_the_search_gives_what_the_recall_tool_answers():
    worker, inspected = inspect_session()
    worker.restart()  # nothing was sent yet, so nothing is in view: as for the inspector
    _, ask = worker.manager.recall_tool()
    found = told(inspected, "search", session="s", query="prod.yaml")
    assert found["answer"] == ask(query="prod.yaml")
    assert any("Never touch prod.yaml." in text for _, _, text in found["hits"])
    assert told(inspected, "search", session="s", query="ref:1")["answer"] == ask(ref="1") == "Never touch prod.yaml."


def test_inspector_finds_new_work_and_writes_nothing():
    """What an agent writes meanwhile is found and nothing is written."""
    worker, inspected = inspect_session(5, work_for)
    before = told(inspected, "requests", session="s", start=0)
    records = worker.store.length("s")
    known = len(told(inspected, "steps", session="s", known=0)["steps"])
    told(inspected, "search", session="s", query="c1")
    told(inspected, "request", session="s", at=before[-1][0])
    assert worker.store.length("s") == records
    worker.step()
    worker.restart()
    after = told(inspected, "requests", session="s", start=before[-1][0])
    assert (after[0], len(after)) == (before[-1], 2)
    assert {each[0] for each in told(inspected, "steps", session="s", known=known)["steps"]} == {after[-1][0]}
    found = told(inspected, "request", session="s", at=after[-1][0])
    assert [line[9] for line in found["lines"] if line[9] is not None] == worker.sent[-1]


# -- in a browser --

CUT = """() => [...document.querySelectorAll('body, .scroll')].filter((each) => each.scrollWidth > each.clientWidth)
    .map((each) => each.id || each.className)"""
"""What is wider than its place, and so cut or to be scrolled."""


@needs_chromium
def test_addresses_name_a_request_and_charts_lead_to_them():
    """Links, back, forward and a reload lead to the same request; a click in a chart to that under the pointer."""
    worker, inspected = inspect_session()
    requests = worker.manager.list_requests()
    compacted = [number for number, each in enumerate(requests) if each.compacted]
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        assert page.locator("#sessions tbody th").all_inner_texts() == ["s", "<b>other</b>"]
        page.click("#sessions .sort[data-sort=requests]")
        page.click("#sessions .sort[data-sort=requests]")
        assert page.locator("#sessions tbody th").all_inner_texts() == ["<b>other</b>", "s"]
        assert page.get_attribute("#sessions th:has([data-sort=requests])", "aria-sort") == "ascending"
        assert page.evaluate(CUT) == []
        page.get_by_role("link", name="s", exact=True).click()
        page.wait_for_selector("#summary[data-session=s]")
        (mark,) = page.locator("#marks rect.fill-compaction").all()[2:3]
        box = mark.bounding_box()
        page.mouse.move(box["x"] + 4, box["y"] + 3)
        assert page.inner_text("#readout").endswith(f"compacted. A click opens request {compacted[2]}.")
        page.mouse.click(box["x"] + 4, box["y"] + 3)
        page.wait_for_selector(f"#request-title:text-is('Request {compacted[2]} on {requests[compacted[2]].lane}')")
        for _ in range(3):
            page.keyboard.press("j")
        title = f"#request-title:text-matches('^Request {compacted[2] + 3} ')"
        page.wait_for_selector(title)
        shown = """() => ['#request-title', '#requests tr[aria-current]'].map((each) => document.querySelector(each)
            .getBoundingClientRect()).every(({top, bottom}) => top >= 0 && bottom <= innerHeight)"""
        assert page.evaluate(shown)
        page.reload()
        page.wait_for_selector(title)
        page.wait_for_selector(DONE)
        page.go_back()  # steps in a row are one entry
        page.wait_for_selector(f"#request-title:text-is('Request {compacted[2]} on {requests[compacted[2]].lane}')")
        page.go_back()
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        page.go_back()
        page.wait_for_selector("#sessions:visible")
        page.go_forward()
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        groups = page.evaluate("() => grouped(10000, 900)")
        assert len(groups) <= 900
        assert [number for first, end in groups for number in range(first, end)] == list(range(10_000))
    assert browser.faults == []


@needs_chromium
def test_page_works_by_keyboard_and_runs_nothing_from_messages():
    """The page shows a request by keyboard and runs nothing that messages hold."""
    _, inspected = inspect_session()
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address, viewport={"width": 390, "height": 800}, color_scheme="dark")
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        for each in page.locator("#lines details > summary").all():
            each.press("Enter")
        page.press("#bill-details > summary", "Enter")
        ends = "() => [...document.querySelectorAll('#costs td')].map((cell) => cell.getBoundingClientRect().right)"
        assert max(page.evaluate(ends)) <= 390  # the figures are seen without scrolling
        page.check("#exact")
        shown = page.locator("#lines").inner_text()
        assert "<img src=x onerror=" in shown
        assert page.locator("#lines img, #lines script, #lines a, #hits img, #answer img").count() == 0
        page.locator("h1").click()
        page.keyboard.press("k")
        page.wait_for_selector("#request-title:text-is('Request 59 on main')")
        page.keyboard.press("/")
        page.keyboard.type("onerror")
        page.keyboard.press("Enter")
        page.wait_for_selector("#answer:visible")
        assert "<img src=x onerror=" in page.locator("#answer").inner_text()
        assert page.title() == "Request 59 of s - Backscroll inspector"
        assert page.locator("h1").inner_text() == "Backscroll <i>store</i>.db"
        wide = page.evaluate("() => [document.documentElement.scrollWidth, innerWidth]")
        assert wide == [390, 390]
    assert browser.faults == []
    assert [each for each in browser.asked if not each.startswith(address)] == []


def moved_to(worker, number):
    """Whether the first message that differs from the request before is the digest, not an older one that came back."""
    lane = worker.manager.list_requests()[number].lane
    before = max(n for n in range(number) if worker.manager.list_requests()[n].lane == lane)
    views = zip(worker.sent[before], worker.sent[number], strict=False)
    return next(str(new.get("content")).startswith("<summary>") for old, new in views if old != new)


@needs_chromium
def test_page_marks_moves_differences_bill_and_dropped_messages():
    """The page marks what moved shows the difference the bill and what was left out."""
    worker, inspected = inspect_session()
    requests = worker.manager.list_requests()
    number = max(n for n, each in enumerate(requests[:60]) if each.compacted and n > 20 and moved_to(worker, n))
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        assert page.evaluate(CUT) == []
        page.fill("#from", str(number))
        page.press("#from", "Enter")
        page.get_by_role("link", name=f"Show request {number}", exact=True).click()
        page.wait_for_selector(f"#request-title:text-matches('^Request {number} ')")
        assert page.evaluate("() => document.activeElement.id") == "request"
        assert page.url == f"{address}#session=s&request={number}"
        assert "The prefix moved at message" in page.locator("#moved").inner_text()
        assert page.locator("#lines mark").count() == 1
        page.click("#diff-details > summary")
        page.wait_for_selector("#diff li.gone")
        assert page.locator("#diff li.new").count() > 0
        assert page.locator("#diff li.new", has_text="here the prefix moved").count() == 1
        assert page.locator("#diff li.gone", has_text="here the prefix moved").count() == 0
        (gone,) = page.locator("#diff li.gone", has_text="digest · digest").all()
        gone.locator("summary").click()
        before = max(n for n in range(number) if requests[n].lane == requests[number].lane)
        texts = [each.get("content") or "" for each in worker.sent[before]]
        (digest,) = [text for text in texts if text.startswith("<summary>") and "arlier messages are" in text]
        assert gone.locator("pre").inner_text() == digest
        page.click("#bill-details > summary")
        assert "Computed: newly written" in page.locator("#costs").inner_text()
        assert "start the inspector with --model NAME or --prices FILE" in page.inner_text("#money")
        page.locator("#lines .gap button").first.click()
        page.wait_for_selector("#lines .gap li")
        assert len(page.locator("#lines > li:not(.gap)").all()) == len(worker.sent[number])
    assert browser.faults == []


@needs_chromium
def test_bill_separates_reported_from_computed_figures():
    """The bill shows what the provider reported next to what is computed and says where it reported nothing."""
    store = MemoryStore()
    told: dict[str, Any] = {"cache_read_tokens": 7, "cache_write_tokens": 3}
    for name, cache in (("told", told), ("input", {}), ("silent", None)):
        manager = ContextManager(session=name, store=store, budget=2_000, tokenizer=count_quarter, overhead_tokens=0)
        manager.append({"role": "user", "content": "hello " * 100})
        manager.get_messages_for_request()
        if cache is not None:
            manager.observe_usage(input_tokens=200 - sum(cache.values()), output_tokens=11, **cache)
        manager.close()
    told = {}
    with served(StoreInspector(store, "s.db", Money("claude-opus-5-5"))) as address, Browser() as browser:
        page = browser.open(address)
        for name in ("told", "input", "silent"):
            page.select_option("#session", name)
            page.wait_for_selector(f"#summary[data-session={name}]")
            page.locator("#bill-details").evaluate("(details) => { details.open = true; }")
            rows = page.locator("#costs tr").all_inner_texts()
            told[name] = [row.split("\t") for row in rows if row.startswith("Reported")], page.inner_text("#summary")
            assert [row.split("\t")[1][0] for row in rows if row.startswith("Dollars")] == ["$"]
            assert page.inner_text("#money").startswith("Cost: $")
            by_reports = "by the cache that the provider reported" in page.inner_text("#money")
            assert by_reports == (name == "told")
    (rows, said) = told["told"]
    assert [value for _, value in rows] == ["7", "3", "11"]
    assert "Of 1 requests the provider reported the input, 200 tokens and 11 of answers; none is estimated" in said
    assert "; of 1 of them also the cache: 7 read" in said
    (rows, said) = told["input"]
    assert [value for _, value in rows] == ["not reported", "not reported", "11"]
    assert "of its cache it reported nothing" in said
    (rows, said) = told["silent"]
    assert [value for _, value in rows] == ["nothing: all figures of this request are computed"]
    assert "All of these figures are estimates: the provider reported none." in said
    assert browser.faults == []


@needs_chromium
def test_the_first_paint_waits_for_no_walk_through_the_session():
    worker, inspected = inspect_session()
    with served(inspected) as address, Browser() as browser:
        page = browser.open("about:blank", ready="body >> nth=0")
        page.route("**/data/steps*", lambda _: None)  # is never answered
        page.goto(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        shown = page.locator("#requests tr[aria-current=true] td").all_inner_texts()
        assert shown[:4] == ["main", shown[1], "…", "…"]
        assert len(page.locator("#lines > li:not(.gap)").all()) == len(
            worker.manager.get_request(worker.manager.list_requests()[-1].at).messages
        )
        page.wait_for_selector("#legend li:text-is('not yet by kind')")
        assert page.locator("#tokens path.fill-unknown").get_attribute("d")
    assert [each for each in browser.asked if not each.startswith((address, "about:"))] == []


@needs_chromium
def test_an_open_page_takes_in_what_an_agent_adds():
    worker, inspected = inspect_session(3, work_for)
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#requests tbody tr:nth-child(4)")
        worker.step()
        worker.restart()
        page.wait_for_selector("#request-title:text-is('Request 4 on main')", timeout=60_000)  # the newest is followed
        assert page.locator("#requests tbody tr").count() == 5
        assert page.locator("#tokens path.fill-results").get_attribute("d").count("H") == 5
    assert browser.faults == []


@needs_chromium
def test_open_page_shows_the_first_session_and_lists_later_ones():
    """An open page shows the first session that begins and lists those that follow."""
    store = MemoryStore()
    with served(StoreInspector(store, "empty.db")) as address, Browser() as browser:
        page = browser.open(address, ready="#status:text-matches('No session yet')")
        worker = Worker("openai", store)
        worker.step()
        worker.restart()
        page.wait_for_selector("#request-title:text-is('Request 0 on main')", timeout=60_000)
        other = ContextManager(session="<b>other</b>", store=store)
        other.append({"role": "user", "content": "hello"})
        other.close()
        page.evaluate("() => look()")  # what the page does every two seconds
        page.wait_for_selector("#news:text-is('New session: <b>other</b>')", timeout=60_000)
        assert page.locator("#session option").all_inner_texts() == ["All sessions", "s", "<b>other</b>"]
        assert page.input_value("#session") == "s"
        page.select_option("#session", "<b>other</b>")
        page.wait_for_selector("#request-title:text-is('No request was made yet')")
        store.delete("s")
        page.evaluate("() => look()")
        page.wait_for_selector("#session:not(:has(option[value=s]))", timeout=60_000)
        assert browser.faults == []
        store.append("bad", 0, [Record("request", None, b"{", 3)]).result()
        page.evaluate("() => look()")
        page.select_option("#session", "bad")
        page.wait_for_selector("#status:text-matches('^That failed: session .bad.: record 0')")
        assert page.inner_text("#request-title") == "Request"  # nothing of the session before


def pages(manager, ref):
    """What recall of a reference returns, page after page."""
    text, offset = "", 0
    while offset is not None:
        page = manager.recall(ref, offset=offset)
        text, offset = text + page, page.next_offset
    return text


@needs_chromium
def test_an_exported_file_shows_the_same_without_a_server(tmp_path):
    worker, inspected = inspect_session()
    path = tmp_path / "report.html"
    path.write_text(exported(inspected, ["s"], lambda _: None), encoding="utf-8")
    with Browser() as browser:
        page = browser.open(path.as_uri())
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        assert "not yet by kind" not in page.inner_text("#legend")
        for number in (60, 59, 30):
            page.fill("#from", str(number))
            page.press("#from", "Enter")
            page.get_by_role("link", name=f"Show request {number}", exact=True).click()
            page.wait_for_selector(f"#request-title:text-matches('^Request {number} ')")
            lines = page.evaluate("() => state.shown.lines")
            sent = worker.manager.get_request(worker.manager.list_requests()[number].at)
            assert [line[9] for line in lines if line[9] is not None] == sent.messages
        page.fill("#query", "onerror")
        page.press("#query", "Enter")
        page.wait_for_selector("#hits li")
        assert page.locator("#search-note").is_visible()
        hits = page.evaluate("() => state.session.search('onerror').then((told) => told.hits)")
        assert len(hits) == 3
        assert [text for *_, text in hits] == [pages(worker.manager, f"{seq}") for seq, *_ in hits]
        for ref in ("1", "2-9", "2.1", *(str(seq) for seq in range(40))):
            answer = page.evaluate("(ref) => state.session.search(`[ref:${ref}]`).then((told) => told.answer)", ref)
            assert answer == pages(worker.manager, ref)
        assert page.locator("#hits img, #lines img").count() == 0
        assert page.title() == "Request 30 of s - Backscroll inspector"
    assert browser.faults == []
    assert [each for each in browser.asked if not each.startswith((path.as_uri(), "blob:"))] == []


# -- the command --


def invoke(*arguments):
    return CliRunner().invoke(app, ["inspect", *map(str, arguments)])


def test_a_transcript_is_replayed_and_exported_as_one_file(tmp_path):
    path, report = tmp_path / "talk.json", tmp_path / "report.html"
    messages = [{"role": ("user", "assistant")[at % 2], "content": f"{at} words " * 60} for at in range(60)]
    path.write_text(json.dumps(messages))
    done = invoke(path, "--budget", "2k", "--export", report)
    assert (done.exit_code, "1 session," in done.output) == (0, True), done.output
    (session,) = unpacked(report.read_text(encoding="utf-8"))["sessions"]
    assert (len(session["requests"]), len(session["steps"]["steps"]), len(session["kept"])) == (30, 30, 60)
    assert any(each[7] for each in session["requests"])
    again = invoke(path, "--export", report)
    assert (again.exit_code, "already exists" in again.output) == (2, True)


def test_store_that_cannot_be_inspected_gives_a_one_line_error(tmp_path):
    for arguments, why in (
        ([tmp_path / "none.db"], "no such file"),
        (["sqlite:///" + str(tmp_path / "none.db")], "no store there"),
        ([tmp_path, "--export", tmp_path / "a.html", "--session", "nobody"], "no session 'nobody' in this store"),
    ):
        with warnings.catch_warnings():
            done = invoke(*arguments)
        assert (done.exit_code, why in done.output) == (2, True), done.output
