"""The site: it is built without a warning, works as files without a network, and its lists are complete."""

import html
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

import backscroll
from backscroll.cli.group import app
from backscroll.cli.main import main
from backscroll.history import codec
from backscroll.ports import LOST
from tests.cli.browsing import Browser, needs_chromium
from tests.project.pages import PAGES, ROOT, blocks, name

DOCS = ROOT / "docs"
QUICKSTARTS = ("openai", "anthropic", "gemini", "own-loop")
TOUCHES = re.compile(r"\bbackscroll\b|ContextManager|\bcontext\b|\bdefinition\b|with_retry|_request\(|SESSION")
"""What a line of a quickstart has that touches Backscroll."""
main([])  # so that every command is there


@pytest.mark.parametrize("page", QUICKSTARTS)
def test_quickstart_has_under_15_lines_of_backscroll(page):
    loops = [code for _, code in blocks(DOCS / f"start/{page}.md", "python") if "ContextManager(" in code]
    touching, *more = [[line for line in code.splitlines() if TOUCHES.search(line)] for code in loops]
    assert max(map(len, [touching, *more])) < 15
    words = {8: "Eight", 13: "Thirteen"}
    text = " ".join((DOCS / f"start/{page}.md").read_text(encoding="utf-8").split())
    assert f"{words[len(touching)]} of its lines touch Backscroll" in text


def test_install_page_lists_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`[^|]+) \|", (DOCS / "start/install.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {extra for row in rows for extra in re.findall(r"`([\w-]+)`", row)} == set(extras)


def test_api_pages_describe_every_public_name():
    text = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference/api").glob("*.md"))
    described = re.findall(r"^\.\. auto(?:class|exception|function):: ([\w.]+)$", text, re.MULTILINE)
    assert set(backscroll.__all__) <= set(described)


def test_api_page_describes_every_method_of_a_manager():
    text = (DOCS / "reference/api/manager.md").read_text(encoding="utf-8")
    described = re.findall(r"^\.\. auto(?:method|property):: ContextManager\.(\w+)$", text, re.MULTILINE)
    assert set(described) == {each for each in dir(backscroll.ContextManager) if not each.startswith("_")}
    assert len(described) == len(set(described))


def test_errors_page_has_the_tree_of_the_source():
    """The same names, as deep in the tree."""

    def tree(text: str) -> list[tuple[int, str]]:
        lines = re.findall(r"^([| `├└│─-]*)(\w+(?:Error))\b", text, re.MULTILINE)
        return [(len(drawn), error) for drawn, error in lines]

    _, drawn = blocks(DOCS / "reference/errors.md", "text")[0]
    assert tree(drawn) == tree((backscroll.errors.__doc__ or "").partition("\n\n")[2])


def test_stored_format_page_lists_every_kind_of_record():
    text = (DOCS / "reference/stored-format.md").read_text(encoding="utf-8")
    section = text.partition("| kind | body |")[2].partition("\n\n")[0]
    listed = {kind for row in section.splitlines()[2:] for kind in re.findall(r"`(\w+)`", row.split("|")[1])}
    wrapped = {*codec._LAYERED, LOST}
    assert listed - wrapped <= set(codec._READERS) | {"tools", "foreseen"}
    assert set(codec._READERS) | wrapped <= listed


def test_command_line_page_lists_every_command():
    rows = re.findall(r"^\| `backscroll (\w+)", (DOCS / "reference/cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(app.commands)


def test_page_of_a_command_has_all_its_options():
    for command in app.commands:
        page = (DOCS / f"reference/cli/{command}.md").read_text(encoding="utf-8")
        told = CliRunner().invoke(app, [command, "--help"]).stdout
        assert set(re.findall(r"^  .*?(--[a-z][\w-]+)", told, re.MULTILINE)) - {"--help"} <= set(
            re.findall(r"--[a-z][\w-]+", page)
        )


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_relative_to(DOCS)], ids=name)
def test_page_begins_with_what_it_is_for(page):
    """A heading and a sentence, before any code or list."""
    text = page.read_text(encoding="utf-8")
    if not text.startswith("```{include}"):
        assert re.match(r"# [^\n]{1,40}\n\n[A-Z`][^\n]+", text), text[:80]


# -- the built site --


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it."""
    target = tmp_path_factory.mktemp("site")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    flags = re.findall(r"^SPHINX := (.+) docs build/site$", makefile, re.MULTILINE)[0].split()
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *flags, "-d", str(target / "read"), "docs", str(target / "html")],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip  # one list
    assert (done.returncode, done.stderr) == (0, "")
    return target / "html"


class Loads(HTMLParser):
    """What a page loads by itself: not what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.found += [given[key] for key in ("src", "srcset", "data", "poster") if key in given]
        if tag == "link" and given.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.found.append(given.get("href", ""))
        self.found += re.findall(r"url\(([^)]*)\)", given.get("style", ""))


@pytest.mark.long
def test_site_loads_nothing_from_another_host(site):
    for page in site.rglob("*.html"):
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        assert [each for each in loads.found if re.match(r"(?!data:)(\w+:)?//|\w+:(?!//)(?<!data:)", each)] == [], page
    for sheet in site.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert re.findall(r"@import|url\([\"']?(?:\w+:)?//", text) == [], sheet


@pytest.mark.long
def test_site_has_an_entry_for_every_public_name(site):
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    named = {entry for kind in ("class", "exception", "function") for entry in inventory.data[f"py:{kind}"]}
    assert {f"backscroll.{each}" for each in backscroll.__all__} <= named


@pytest.mark.long
def test_site_shows_the_glossary_and_no_markup_of_its_sources(site):
    """Included pages are whole, and what only Sphinx reads is not shown."""
    assert "append-only" in (site / "design/architecture.html").read_text(encoding="utf-8")
    for page in site.rglob("*.html"):
        text = html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))
        assert re.findall(r"\{(?:include|toctree|eval-rst|py:obj)\}|~backscroll\.|:py:obj:", text) == [], page


@pytest.mark.long
@needs_chromium
def test_site_searches_without_server_and_network(site):
    with Browser() as browser:
        page = browser.open(
            f"{(site / 'search.html').as_uri()}?q=budget",
            "#search-results li a",
            offline=True,
            java_script_enabled=True,
        )
        page.wait_for_function("document.querySelectorAll('#search-results li a').length > 5")
        titles = page.locator("#search-results li a").all_inner_texts()
        assert any("Budget and counting" in title for title in titles)
        assert browser.faults == []
        assert {asked.partition(":")[0] for asked in browser.asked} <= {"file", "data"}


@pytest.mark.long
@needs_chromium
def test_pages_fit_a_phone_and_a_small_screen(site):
    """No page is wider than the window; long tables, code and pictures scroll by themselves."""
    with Browser() as browser:
        page = browser.open((site / "index.html").as_uri(), "article")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            for path in sorted(site.rglob("*.html")):
                page.goto(path.as_uri())
                wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                assert wider <= 0, (path, width)


@pytest.mark.long
@needs_chromium
def test_quickstarts_show_all_their_code_on_a_small_screen(site):
    with Browser() as browser:
        page = browser.open((site / "index.html").as_uri(), "article")
        page.set_viewport_size({"width": 1280, "height": 800})
        for quickstart in QUICKSTARTS:
            page.goto((site / f"start/{quickstart}.html").as_uri())
            cut = "[...document.querySelectorAll('pre')].filter(code => code.scrollWidth > code.clientWidth).length"
            assert page.evaluate(cut) == 0, quickstart
