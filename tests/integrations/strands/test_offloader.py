"""Long results: seen once, then a preview; read back by reference, media as media; a storage that may fail."""

import asyncio
import json
import threading
from typing import Any

import pytest
from strands import tool
from strands.storage import InMemoryStorage

from backscroll import ToolResultPreview
from backscroll.integrations.strands import ContextManagerPlugin, ContextOffloader
from backscroll.integrations.strands.tool_result_storage import ToolResultArchive
from tests.integrations.strands.agents import TOOLS, agent_of, png, text_of
from tests.integrations.strands.scripted import Scripted, call

LONG = {"path": "long.py", "lines": 400}  # about 5,200 tokens


def shown(model: Scripted, at: int) -> int:
    return text_of(model.requests[at]["messages"]).count("long.py: line")


def test_long_result_is_seen_whole_and_previewed_later():
    """A long result is seen whole and previewed with the next compression."""
    both = [call("read", {**LONG, "lines": 600}), call("read", {"path": "other.py", "lines": 600})]
    reads = [call("read", {"path": f"{n}.py", "lines": 200}) for n in range(12)]
    model = Scripted([both, "Done.", *reads], told=34_000)
    agent = agent_of(model)
    agent("Read"), agent("Go on")
    cut = next(at for at in range(2, len(model.requests)) if shown(model, at) < 600)
    assert [shown(model, at) for at in range(1, cut)] == [600] * (cut - 1)
    assert cut > 5
    assert 60 < shown(model, cut) < 200
    assert "recall [ref:2.0]" in text_of(model.requests[cut]["messages"])


def test_on_arrival_it_is_never_seen_whole():
    model = Scripted([call("read", LONG), "Done."], told=200_000)
    agent_of(model, ContextManagerPlugin({"offloader": {"when": "arrival"}}))("Read")
    assert 60 < shown(model, 1) < 200


def test_over_a_quarter_of_the_window_never_either():
    model = Scripted([call("read", LONG), "Done."], window=16_000)
    agent_of(model)("Read")
    assert shown(model, 1) < 200
    assert model.refused == 0


def test_retrieval_answer_is_not_offloaded_again_at_once():
    """The answer of the retrieval tool is not offloaded again at once."""
    again = call("retrieve_offloaded_content", {"reference": "[ref:2.0]"})
    model = Scripted([call("read", LONG), again, "Done."], told=200_000)
    agent_of(model, ContextManagerPlugin({"offloader": {"when": "arrival", "threshold": 1_000}}))("Read")
    assert shown(model, 2) > 200


def test_retrieval_takes_patterns_ranges_context_and_offsets():
    """Retrieval takes patterns ranges lines around and offsets."""
    agent = agent_of(Scripted([call("read", LONG), "Done."]))
    agent("Read")

    def read(**arguments: Any) -> str:
        return agent.tool.retrieve_offloaded_content(reference="ref:2", **arguments)["content"][0]["text"]

    assert read(pattern="line 7,").splitlines()[1:] == ["long.py: line 7, value 433"]
    around = read(pattern="line 7,", context_lines=2).splitlines()[1:]
    assert [line.split()[2] for line in around] == ["5,", "6,", "7,", "8,", "9,"]
    assert read(line_range={"start": 3, "end": 4}).splitlines() == [
        "long.py: line 2, value 838",
        "long.py: line 3, value 757",
    ]
    assert "line 399" not in read(pattern="line 399,", line_range={"start": 1, "end": 50})
    assert read(offset=10).startswith(read()[10:2_000])
    assert "start" in read(line_range={"end": 3})
    assert "reference" in agent.tool.retrieve_offloaded_content(reference="call-0")["content"][0]["text"]
    assert "no regular expression" in read(pattern="(")


def test_media_come_back_as_media():
    @tool
    def scan() -> dict[str, Any]:
        """Scan."""
        page = {"document": {"format": "pdf", "name": "page", "source": {"bytes": b"%PDF-1.4 nothing"}}}
        return {
            "status": "success",
            "content": [{"image": {"format": "png", "source": {"bytes": png()}}}, page, {"json": {"a": 1}}],
        }

    agent = agent_of(Scripted([call("scan", {}), "Done."]), tools=[scan])
    agent("Scan")
    original = agent.messages[2]["content"][0]["toolResult"]["content"]
    whole = agent.tool.retrieve_offloaded_content(reference="2")["content"]
    assert whole[1:] == original[:2]
    assert '{"a":1}' in whole[0]["text"]
    assert agent.tool.retrieve_offloaded_content(reference="2.0")["content"][1:] == original[:1]


def test_the_storage_gets_each_long_block_with_its_content_type():
    @tool
    def mixed() -> dict[str, Any]:
        """Several blocks."""
        blocks = [{"text": "long text " * 2_000}, {"json": {"rows": list(range(3_000))}}, {"text": "short"}]
        return {"status": "success", "content": blocks}

    storage = InMemoryStorage()
    model = Scripted([call("mixed", {}, id="one"), "Done."])
    agent_of(
        model, ContextManagerPlugin({"strategy": "auto", "offloader": {"tool_result_storage": storage}}), tools=[mixed]
    )("Go")
    kept = storage._store if hasattr(storage, "_store") else vars(storage)
    bodies = [value for found in kept.values() for value in (found.values() if isinstance(found, dict) else [found])]
    kinds = sorted(
        bytes(body)[2 : 2 + bytes(body)[1]].decode() for body in bodies if isinstance(body, (bytes, bytearray))
    )
    assert kinds == ["application/json", "text/plain"]


class Block(dict[str, Any]):
    """A block that notes in which threads its text was read."""

    def __init__(self, text: str) -> None:
        super().__init__(text=text)
        self.threads: set[int] = set()

    def __getitem__(self, key: str) -> Any:
        self.threads.add(threading.get_ident())
        return super().__getitem__(key)


def test_a_large_result_is_counted_outside_of_the_event_loop():
    small, large = Block("word " * 4_000), Block("word " * 40_000)
    storage = InMemoryStorage()

    async def run() -> None:
        shelf = ToolResultArchive(storage, ToolResultPreview(threshold_tokens=100, preview_tokens=50), "kept")
        for name, block in (("a", small), ("b", large)):
            result = {"toolUseId": name, "content": [block], "status": "success"}
            await shelf.keep([{"role": "user", "content": [{"toolResult": result}]}])
        assert len(await storage.list("kept")) == 2

    asyncio.run(run())
    assert small.threads == {threading.get_ident()}
    assert threading.get_ident() not in large.threads


def test_a_storage_that_fails_keeps_the_original_and_warns():
    class Full:
        async def write(self, key: str, data: bytes) -> None:
            raise OSError("no space left")

    model = Scripted([call("read", LONG), "Done."], told=200_000)
    plugin = ContextOffloader(when="arrival", tool_result_storage=Full())
    with pytest.warns(RuntimeWarning, match="could not be stored and stays whole.*no space left"):
        agent_of(model, plugin)("Read")
    assert shown(model, 1) == 400


def test_previews_cover_errors_and_inputs_and_do_not_pile_up():
    """ToolResultPreview do not pile up and errors and inputs are no exception."""

    @tool
    def explode() -> dict[str, Any]:
        """Explode."""
        return {"status": "error", "content": [{"text": "traceback line\n" * 3_000}]}

    steps = [call("explode", {}), *[call("read", {"path": f"{n}.py"}) for n in range(25)], "Done."]
    model = Scripted(steps, told=20_000)
    agent_of(model, tools=[*TOOLS, explode])("Go")
    marks = [
        json.dumps(request["messages"]).count("characters left out, recall [ref:2.0]") for request in model.requests[1:]
    ]
    assert max(marks) <= 1
