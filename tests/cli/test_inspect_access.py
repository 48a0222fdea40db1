"""The inspector's page as a screen reader gets it, and as who uses the keyboard alone meets it."""

import json
from itertools import pairwise

import pytest

from backscroll.cli.inspect.export import page as exported
from backscroll.cli.inspect.server import page_file
from tests.cli.browsing import AXE, CHROMIUM_MARKS, Browser, served, violations
from tests.cli.inspected import inspect_session

pytestmark = [*CHROMIUM_MARKS]
CONTROLS = {"button", "textbox", "searchbox", "checkbox", "combobox", "link", "DisclosureTriangle"}
PLACES = {"region", "form", "search", "table", "list", "group"}
WORDS = json.loads(page_file("words.js").partition("const WORDS = ")[2].rstrip(";\n"))
HEADINGS = ["Backscroll <i>store</i>.db", "Timeline", "Requests", "Request 60 on main", "Messages, as they were sent"]


def tree(page):
    """What a screen reader is told, in reading order: role, name, and the live text or the state that goes with it."""
    driver = page.context.new_cdp_session(page)
    nodes = {node["nodeId"]: node for node in driver.send("Accessibility.getFullAXTree")["nodes"]}
    driver.detach()
    waiting, found = [next(iter(nodes))], []
    while waiting:
        node = nodes[waiting.pop()]
        waiting += [child for child in reversed(node.get("childIds", [])) if child in nodes]
        if not node["ignored"]:
            told = {each["name"]: each["value"].get("value") for each in node.get("properties", [])}
            found.append((node["role"]["value"], node.get("name", {}).get("value", ""), told))
    return found


def described(page):
    """Role, name and description of what has one."""
    driver = page.context.new_cdp_session(page)
    nodes = driver.send("Accessibility.getFullAXTree")["nodes"]
    driver.detach()
    return [(n["role"]["value"], n["name"]["value"], n["description"]["value"]) for n in nodes if n.get("description")]


def named(told, *roles):
    return [name for role, name, _ in told if role in roles]


def assert_sound(told):
    """Every control has a name, every place that is told apart has one of its own, and nothing else is in the tree."""
    assert [each for each in told if each[0] in CONTROLS and not each[1].strip()] == []
    for role in ("region", "form", "search", "table"):
        names = named(told, role)
        assert len(set(names)) == len(names), role
        assert "" not in names, role
    levels = [properties["level"] for role, _, properties in told if role == "heading"]
    assert all(level <= before + 1 for before, level in pairwise(levels))
    assert named(told, "graphics-symbol", "SvgRoot", "image") == []


@pytest.mark.parametrize("way", ["served", pytest.param("exported", marks=pytest.mark.long)])
def test_screen_reader_gets_what_the_page_shows(way, tmp_path):
    _, inspected = inspect_session()
    with served(inspected) as address, Browser() as browser:
        path = tmp_path / "report.html"
        path.write_text(exported(inspected, ["s"], lambda _: None), encoding="utf-8")
        page = browser.open(address if way == "served" else path.as_uri())
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        told = tree(page)
        assert_sound(told)
        assert named(told, "heading") == HEADINGS
        assert named(told, "table") == ["Requests"]
        assert "Show request 60" in named(told, "rowheader")
        assert len([properties for role, _, properties in told if role == "status"]) == 3
        said = " ".join(named(told, "StaticText"))
        assert "Chart: tokens of requests 0 to 60 by kind. The smallest has" in said
        assert "Chart: tokens of each request that a cache could hold" in said
        assert ("button", "digest", WORDS["digest"]) in described(page)
        page.focus("#states .term[data-word=digest]")
        assert page.inner_text("#tip") == WORDS["digest"]
        page.keyboard.press("Escape")
        assert not page.is_visible("#tip")
        for each in ("#bill-details > summary", "#diff-details > summary", "#lines > li:last-child summary"):
            page.press(each, "Enter")
        page.wait_for_selector("#diff li")
        page.fill("#query", "onerror")
        page.press("#query", "Enter")
        page.wait_for_selector("#hits li")
        told = tree(page)
        assert_sound(told)
        newest = page.get_attribute("#lines > li:last-child", "data-at")
        assert f"Text of message {newest}, tool" in named(told, "group")
        assert {"Table of the bill", "Bill of the request"} <= {*named(told, "region", "table")}
        assert [name for role, name, _ in told if role == "rowheader" and name == "Computed: newly written"]
        said = " ".join(named(told, "StaticText"))
        assert "new:" in said
        assert "places found" in said
    assert browser.faults == []


def test_an_empty_session_leaves_nothing_of_the_one_before():
    _, inspected = inspect_session(3)
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 3 on main')")
        page.fill("#query", "onerror")
        page.press("#query", "Enter")
        page.wait_for_selector("#hits li")
        page.select_option("#session", "<b>other</b>")
        page.wait_for_selector("#request-title:text-is('No request was made yet')")
        told = tree(page)
        assert_sound(told)
        assert named(told, "heading") == [*HEADINGS[:3], "No request was made yet"]
        assert "<img" not in " ".join(named(told, "StaticText"))
        assert not page.locator("#charts").is_visible()
        assert [page.is_disabled(each) for each in ("#previous", "#next", "#older", "#newer")] == [True] * 4
    assert browser.faults == []


def test_automatic_changes_are_announced_and_keep_the_focus():
    worker, inspected = inspect_session(30)
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 30 on main')")
        page.keyboard.press("k")
        page.wait_for_selector("#request-title:text-is('Request 29 on main')")
        page.focus("[data-number='20']")
        worker.step()
        worker.restart()
        page.wait_for_selector("#news:has-text('1 new request: show request 31')", timeout=60_000)
        page.wait_for_selector("#requests tbody tr:has([data-number='31'])")
        assert page.evaluate("() => document.activeElement.dataset.number") == "20"
        assert page.inner_text("#request-title") == "Request 29 on main"  # who moved away stays there
        page.keyboard.press("k")
        page.wait_for_selector(
            "#chosen:text-matches('^Request 28 on main: [0-9,]+ tokens. (The whole previous|The prefix)')"
        )
    assert browser.faults == []


def test_keyboard_reaches_everything_and_keeps_a_focus():
    """The keyboard alone reaches everything and is never left nowhere."""
    _, inspected = inspect_session()
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address)
        page.select_option("#session", "s")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        at = "() => document.activeElement.id || document.activeElement.tagName"
        page.fill("#from", "7")
        page.press("#from", "Enter")
        page.focus("#older")
        page.keyboard.press("Enter")
        assert page.evaluate(at) == "from"
        page.focus("[data-number='1']")
        page.keyboard.press("Enter")
        page.wait_for_selector("#request-title:text-is('Request 1 on main')")
        assert page.evaluate(at) == "request"
        page.focus("#previous")
        page.keyboard.press("Enter")
        page.wait_for_selector("#request-title:text-is('Request 0 on main')")
        assert page.evaluate(at) == "next"
        page.fill("#from", "60")
        page.press("#from", "Enter")
        page.click("[data-number='60']")
        page.wait_for_selector("#request-title:text-is('Request 60 on main')")
        page.locator("#lines .gap button").first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#lines .gap li")
        assert page.evaluate(at) == "SUMMARY"
        page.uncheck("#keys")
        page.locator("h1").click()
        page.keyboard.press("k")
        page.check("#keys")
        page.locator("h1").click()
        page.keyboard.press("k")
        page.wait_for_selector("#request-title:text-is('Request 59 on main')")
    assert browser.faults == []


@pytest.mark.long
@pytest.mark.skipif(AXE is None, reason="no axe-core: name its axe.min.js in BACKSCROLL_TEST_AXE")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_part_of_the_page(scheme):
    _, inspected = inspect_session()
    size = {"width": 1280, "height": 800} if scheme == "light" else {"width": 390, "height": 800}
    with served(inspected) as address, Browser() as browser:
        page = browser.open(address, viewport=size, color_scheme=scheme)
        found = violations(page)
        page.select_option("#session", "s")
        page.wait_for_selector("#summary[data-session=s]")
        for each in ("#bill-details", "#diff-details", "#words-details", "#lines > li:last-child details"):
            page.locator(each).evaluate("(details) => { details.open = true; }")
        page.locator("#lines .gap button").first.click()
        page.fill("#query", "onerror")
        page.press("#query", "Enter")
        page.wait_for_selector("#hits li")
        page.focus("#states .term")
        found += violations(page)
    assert found == []
    assert browser.faults == []
