"""Options as a file: what is written is read as the same arguments, and what cannot be is refused."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import backscroll
from backscroll import BudgetOptions, CachePricing, ConfigurationError, ContextManager, Protection, ToolResultPreview
from backscroll.compaction.modes import MODES
from backscroll.manager.options_file import arguments_of, as_python, as_toml, read_options

share = st.floats(0, 1)
settings_of_files = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from([*MODES]),
        "compact_threshold": st.floats(
            max(mode.target_usage for mode in MODES.values()), 1.0, exclude_min=True
        ),  # else refused
        "target_usage": st.floats(0.01, 0.49),
        "clear_at_least_tokens": st.integers(1, 10**6),
        "strategies": st.lists(st.sampled_from(["deduplicate", "clear", "digest"]), unique=True),
        "protect": st.fixed_dictionaries({}, optional={"recent": share, "working_set": share, "results": st.just(3)}),
        "cache_pricing": st.fixed_dictionaries(
            {"read": share, "write": st.just(1.0), "ttl_seconds": st.just(math.inf)}
        ),
        "tool_result_preview": st.just({"threshold_tokens": 900, "when": "arrival", "preview_tokens": 400}),
    },
)


@given(settings_of_files)
def test_options_file_written_is_read_as_the_same(tmp_path_factory, settings):
    folder = tmp_path_factory.mktemp("options")
    (folder / "a.toml").write_text(as_toml(settings))
    (folder / "a.json").write_text(json.dumps(settings))
    arguments = arguments_of(settings)
    assert read_options(folder / "a.toml") == read_options(folder / "a.json") == arguments
    ContextManager(**arguments).close()
    given_arguments = {}
    known = {**vars(backscroll), "ContextManager": given_arguments.update}
    code = as_python(settings).partition("\n\n")[2]  # without its import
    exec(code, known)
    assert given_arguments == arguments


def test_options_file_tables_become_objects(tmp_path):
    path = tmp_path / "options.toml"
    path.write_text(
        'mode = "lean"\nmax_messages = 80\n[protect]\nrecent = 0.3\n[tool_result_preview]\nexempt_tools = ["read"]\n'
        "[budget]\nmax_tokens = 9000\n[cache_pricing]\nwrite = 1.0\n"
    )
    assert read_options(path) == {
        "mode": "lean",
        "max_messages": 80,
        "protect": Protection(recent=0.3),
        "tool_result_preview": ToolResultPreview(exempt_tools=("read",)),
        "budget": BudgetOptions(9_000),
        "cache_pricing": CachePricing(write=1.0),
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("mode = ", "not valid TOML or JSON"),
        ("{", "not valid TOML or JSON"),
        ('store = "sqlite:///agent.db"', "`store` is not an option that a file may hold; known are mode, "),
        ("[protect]\nnewest = 1", "unknown option `protect.newest`; known are recent, results"),
        ("[protect]\nrecent = 2", "`recent` must be"),
    ],
)
def test_options_file_with_anything_else_is_refused(tmp_path, text, why):
    path = tmp_path / "options.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=re.escape(f"{path}: ") + ".*" + re.escape(why)):
        read_options(path)


def test_options_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read the options"):
        read_options(tmp_path / "gone.toml")
