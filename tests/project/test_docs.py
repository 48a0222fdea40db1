"""The documents tell the truth: their code runs, their tables agree with the code, their links lead somewhere."""

import ast
import inspect
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from backscroll import AsyncContextManager as Described
from backscroll import (
    BudgetOptions,
    CachePricing,
    Protection,
    StorageOptions,
    Summarizer,
    ToolResultPreview,
    events,
)
from backscroll.compaction.modes import MODES
from backscroll.compaction.strategies import NATIVE, STRATEGIES
from backscroll.integrations.amplifier import hooks as signals
from backscroll.integrations.amplifier import settings
from tests.project.pages import PAGES, ROOT, WITH_CODE, blocks, name

OPTIONS = ROOT / "docs/reference/options.md"
GROUPS = (BudgetOptions, Protection, ToolResultPreview, CachePricing, StorageOptions)
"""Groups of options with a table of their own on that page."""
AVOIDED = re.compile(
    r"\b(told|tells?|anew|besides?|whoever|whatever|stands?|stood|nobody|somebody|as it was written|takes? in|lets? go"
    r"|is about|who asks|may live here|mends?|mended)\b",
    re.IGNORECASE,
)
"""Words that the rules of prose in CONTRIBUTING.md replace."""
GENERATED = re.compile(r"<!-- (?!end).*?<!-- end|^```text\n.*?^```", re.DOTALL | re.MULTILINE)
"""What programs write or print: prose of the sources."""


def test_every_mount_plan_mounts_with_all_its_options():
    """Every mount plan mounts backscroll and none of its options is ignored."""
    plans = [yaml.safe_load(code)["session"] for page in WITH_CODE for _, code in blocks(page, "yaml")]
    assert len(plans) >= 3
    for plan in plans:
        assert plan["context"]["module"] == "context-backscroll"
        assert settings.read_settings(plan["context"]["config"]).ignored == ()


def test_the_first_commands_of_the_readme_set_everything_up():
    _, first = blocks(ROOT / "README.md", "bash")[0]
    assert first.split("\n") == ["make demo", "make test", ""]
    fences = re.findall(r"^```(\w+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert fences[0] == "bash", "no other code stands before them"


def test_the_first_example_has_twelve_lines():
    _, code = blocks(ROOT / "README.md", "python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) == 12


def read(message: dict[str, Any]) -> list[str]:
    """The texts of a message, a call as its name and arguments."""
    content = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
    arguments = [", ".join(f"{key}={value}" for key, value in block.get("input", {}).items()) for block in content]
    return [
        f"{block['name']}({given})" if "name" in block else block.get("text", block.get("content"))
        for block, given in zip(content, arguments, strict=True)
    ]


def test_readme_shows_history_and_view_of_its_example(capsys):
    """Every line before is in the history, and every line after in the last view."""
    _, code = blocks(ROOT / "README.md", "python")[0]
    made: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), made)
    shown = [text for _, text in blocks(ROOT / "README.md", "text")[1:3]]
    for text, messages in zip(shown, (made["context"].get_messages(), made["view"]), strict=True):
        sent = [text for message in messages for text in read(message)]
        lines = [re.sub(r"^(user|assistant) +| \.\.\.$", "", line.strip()) for line in text.splitlines()]
        assert [line for line in lines if line != "..." and not any(line in text for text in sent)] == []


def test_readme_is_short():
    """150 lines at most: what does not fit lies in `docs/`."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def table(page: Path, heading: str) -> list[list[str]]:
    """Cells of the table under a heading, without its header."""
    text = re.split(rf"^#+ {re.escape(heading)}$", page.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[1]
    rows = [line for line in re.split(r"^#+ ", text, flags=re.MULTILINE)[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_readme_compares_with_figures_of_the_benchmarks():
    """Every cell of the comparison stands in a row of the same peer."""
    measured = (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").splitlines()
    for peer, *cells in table(ROOT / "README.md", "Compared"):
        rows = [line for line in measured if re.search(rf"\| {re.escape(peer)} \|", line)]
        steps = next(line for line in rows if f"| {cells[0]} |" in line)
        cost = next(line for line in rows if line.startswith("| 32,000 |"))
        assert cells[1] == steps.strip("|").split("|")[3].strip(), peer
        assert all(f" {cell} |" in cost for cell in cells[2:]), peer


def options():
    """What a manager takes by name."""
    parameters = inspect.signature(Described).parameters.values()
    return [each for each in parameters if each.kind is each.KEYWORD_ONLY]


def value(text: str) -> Any:
    """A default as a table writes it."""
    made = {"Protection()": Protection(), "StorageOptions()": StorageOptions(), "BudgetOptions()": BudgetOptions()}
    return made[text] if text in made else ast.literal_eval(text)


def test_the_table_of_options_is_the_signature():
    headings = re.findall(r"^## (?!Groups)(.+)$", OPTIONS.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [row for heading in headings for row in table(OPTIONS, heading)]
    written = {row[0].strip("`"): value(row[1].strip("`")) for row in rows}
    assert len(written) == len(rows)
    defaults = {each.name: each.default for each in options()}
    assert written == defaults


def documented(page: Path, heading: str) -> dict[str, Any]:
    """Defaults of a table; `MISSING` where there is none."""
    rows = [(row[0].strip("`"), row[1].strip("`")) for row in table(page, heading)]
    return {name: ast.literal_eval(text) if text else MISSING for name, text in rows}


@pytest.mark.parametrize("group", GROUPS)
def test_the_table_of_each_group_is_its_class(group):
    assert documented(OPTIONS, group.__name__) == {each.name: each.default for each in fields(group)}


def test_summaries_page_names_every_summary_option():
    page = ROOT / "docs/guides/summaries.md"
    found = documented(page, "When a summary is requested, and when it counts")
    assert found == {each.name: each.default for each in fields(Summarizer)}


def test_strategies_table_names_every_strategy():
    assert [row[0].strip("`") for row in table(ROOT / "docs/concepts/compaction.md", "Strategies")] == list(STRATEGIES)


def test_class_docstring_names_every_option_and_strategy():
    """The class describes every option and names every strategy."""
    listed = (inspect.getdoc(Described) or "").partition("Args:\n")[2].partition("Raises:")[0]
    assert re.findall(r"^    (\w+):", listed, re.MULTILINE) == [each.name for each in options()]
    assert {word for word in re.findall(r'`"(\w+)"`', listed) if word != "auto"} == {*STRATEGIES, NATIVE, *MODES}


def test_events_table_names_all_events():
    named = [row[0].split("`")[1] for row in table(ROOT / "docs/reference/events.md", "All events")]
    assert sorted(named) == sorted(events.ALL)


def test_events_table_of_amplifier_names_those_of_the_module():
    named = [row[0].split("`")[1] for row in table(ROOT / "docs/integrations/amplifier.md", "Events")]
    assert sorted(named) == sorted(set(signals.ALL) - set(events.ALL))


def test_events_page_names_all_that_move_the_prefix():
    section = (
        (ROOT / "docs/reference/events.md").read_text(encoding="utf-8").partition("\n## When a view does not extend")[2]
    )
    assert set(re.findall(r"`(context:\w+)`", section)) == events.MOVES_PREFIX


def test_events_page_names_what_only_the_amplifier_module_emits():
    page = (ROOT / "docs/reference/events.md").read_text(encoding="utf-8")
    section = page.partition("\nThe [module for Amplifier]")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(context:\w+)`", section)) == set(signals.ALL) - set(events.ALL)


@pytest.mark.parametrize("heading", ["Coming from context-simple", "Coming from context-persistent"])
def test_options_of_other_modules_are_options_here(heading):
    named = [
        name
        for row in table(ROOT / "docs/integrations/amplifier.md", heading)
        for name in re.findall(r"`(\w+)`", row[0])
    ]
    assert named
    assert set(named) <= set(settings.Config.model_fields)


def test_every_named_make_command_is_a_target():
    """Every command that a page names is a target of the makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:^|`|\d )make ([a-z-]+)(?=`|$)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= targets, name(page)


def test_every_promise_of_the_architecture_has_a_test_file():
    """Every promise of the architecture has a test with its number."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## The promises\n")[2]
    promised = set(re.findall(r"^(\d+)\. (?!\*Not yet promised)", text, re.MULTILINE))
    tested = {path.name.split("_")[2] for path in (ROOT / "tests/promises").glob("test_promise_*.py")}
    assert promised == tested


@pytest.mark.parametrize("page", [*PAGES, ROOT / "benchmarks/README.md"], ids=name)
def test_prose_follows_the_glossary(page):
    """The rules themselves name what they avoid."""
    text = GENERATED.sub("", page.read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if not line.startswith("2. **Words to avoid")]
    assert [line for line in lines if AVOIDED.search(line)] == []


def headings(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_headings_that_exist(page):
    links = re.findall(r"\]\((?!\w+:)([\w./-]*\.md)?#([\w-]+)\)", page.read_text(encoding="utf-8"))
    broken = [(path, anchor) for path, anchor in links if anchor not in headings(page.parent / path if path else page)]
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_named_files_lead_to_something(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    paths = re.findall(r"\]\((?!\w+:)([^)#\s]+)", text)
    paths += re.findall(r"`((?:src|tests|docs|examples|benchmarks)/[\w./]+)`", text)
    assert [path for path in paths if not (page.parent / path).exists() and not (ROOT / path).exists()] == []
