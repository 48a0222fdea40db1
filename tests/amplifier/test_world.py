"""The world itself: the kernel loads its modules as in reality, and the measures see what they claim to see."""

import asyncio
import sys
from typing import Any

import pytest
from amplifier_core import HookResult, events
from amplifier_core.llm_errors import ContextLengthError
from amplifier_core.session import AmplifierSession as PlainSession

from tests.amplifier.naive import Everything
from tests.amplifier.provider import PICTURE, Provider, cost
from tests.amplifier.scripts import Step, Turn, Use, reading, say, use, work
from tests.amplifier.world import NAIVE, World

ROOMY = 400_000


def naive(**options: Any) -> World:
    """A session over the module that sends everything, in a window that holds it all."""
    return World("context-naive", **{"modules": NAIVE, "provider": Provider(ROOMY), **options})


def broken(context: type) -> World:
    """A session over a context manager of the test's own."""
    return naive(modules={"context-naive": f"{__name__}:{context.__name__}.mount"})


@pytest.mark.parametrize("options", [{}, {"session": PlainSession}, {"loop": {"contract": 1}}, {"system": "Be brief."}])
def test_a_session_that_fits_has_nothing_to_complain_of(options):
    run = naive(**options).run(work(turns=3, rounds=5))
    assert run.valid
    assert run.fits
    assert run.complete
    assert run.users_whole
    assert run.extras == frozenset()
    assert (run.extending, run.compactions, len(run.answers), run.errors) == (1.0, 0, 3, [])


def test_messages_are_written_as_loops_write_them():
    step = Step("Both at once.", (Use("read_file", {"lines": 2}), Use("broken", {"path": "a.py"})), thinking="Hm.")
    run = naive().run([Turn("go", (step, say("done")))])
    user, called, read, failed, last = run.given
    assert user == {"role": "user", "content": "go"}
    assert [block["type"] for block in called["content"]] == ["thinking", "text", "tool_call", "tool_call"]
    assert called["content"][2]["input"] == called["tool_calls"][0]["arguments"] == {"lines": 2}
    assert set(called["tool_calls"][0]) == {"id", "tool", "arguments"}
    assert [read["tool_call_id"], failed["tool_call_id"]] == [call["id"] for call in called["tool_calls"]]
    assert failed["content"].startswith("a.py: permission denied")
    assert [block["text"] for block in last["content"]] == ["done"]


def test_hooks_hear_the_usage_as_a_mapping_and_as_the_text_that_the_kernel_makes_of_an_object():
    run = naive().run([Turn("go", (say("done"),))])
    (told,), (response,) = run.payloads(events.LLM_RESPONSE), run.payloads(events.PROVIDER_RESPONSE)
    assert told["usage"]["input_tokens"] == run.requests[0].tokens
    assert response["usage"].startswith(f"input_tokens={run.requests[0].tokens} output_tokens=")


def test_with_caching_only_what_is_new_counts_as_input():
    run = naive(provider=Provider(ROOMY, caching=True)).run(reading(files=3, lines=50))
    usages = [data["usage"] for data in run.payloads(events.LLM_RESPONSE)]
    total = [used["input_tokens"] + used["cache_read_tokens"] + used["cache_write_tokens"] for used in usages]
    assert total == [sent.tokens for sent in run.requests]
    assert usages[0]["cache_read_tokens"] == 0 < usages[2]["cache_read_tokens"]


def test_what_does_not_fit_is_refused_and_tried_again_five_times_as_it_was():
    run = naive(provider=Provider(12_000)).run(reading(files=9, lines=300))
    refused = run.overflows
    assert len(refused) == 6
    assert run.requests[refused[0]].tokens > run.requests[refused[0]].limit == 8_000
    assert all(run.requests[number].messages == run.requests[refused[0]].messages for number in refused)
    assert run.count(events.PROVIDER_RETRY) == 5
    assert "ContextLengthError: prompt is too long" in str(run.errors[0])


def test_the_plain_python_session_keeps_the_type_of_an_error():
    run = naive(provider=Provider(12_000), session=PlainSession).run(reading(files=9, lines=300))
    assert isinstance(run.errors[0], ContextLengthError)


def test_a_failed_turn_does_not_end_the_session():
    turns = [Turn("read it", (use("run_tests", lines=900), say("read"))), Turn("and now?", (say("later"),))]
    run = naive(provider=Provider(12_000), loop={"retries": 0}).run(turns)
    assert [len(run.errors), run.answers, len(run.requests)] == [2, [], 3]


def test_a_picture_costs_what_its_size_says_and_not_its_bytes():
    step = use("screenshot", lines=60)
    run = naive().run([Turn("look", (step, say("I see.")))])
    assert run.given[2]["content"][1]["type"] == "image"
    assert PICTURE < cost(run.given[2]) < PICTURE + 100
    assert run.fits


def test_ids_may_repeat_as_some_models_do_it():
    run = naive(provider=Provider(ROOMY, same_ids=True)).run(reading(files=3, lines=5))
    assert {message["tool_call_id"] for message in run.given if message["role"] == "tool"} == {"call_0"}
    assert run.valid


# Hooks


async def remind(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(action="inject_context", context_injection="mind the style", context_injection_role="user")


async def whisper(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(
        action="inject_context", context_injection="3 tasks open", context_injection_role="user", ephemeral=True
    )


async def refuse(event: str, data: dict[str, Any]) -> HookResult:
    return HookResult(action="deny", reason="not today")


def test_what_a_hook_injects_at_a_tool_stands_between_call_and_result_and_a_provider_refuses_that():
    run = naive(hooks=[(events.TOOL_POST, remind)]).run(reading(files=1, lines=5))
    roles = [message["role"] for message in run.given]
    assert roles == ["user", "assistant", "user", "tool", "assistant"]
    assert run.given[2]["metadata"]["source"] == "hook"
    assert run.given[2]["metadata"]["requested_role"] == "user"
    assert "has no result before" in run.problems[0]


def test_what_a_hook_injects_for_one_request_reaches_the_model_and_not_the_context():
    run = naive(hooks=[(events.PROVIDER_REQUEST, whisper)]).run(reading(files=2, lines=5))
    alone = naive().run(reading(files=2, lines=5))
    assert all(with_it.tokens > without.tokens for with_it, without in zip(run.requests, alone.requests, strict=True))
    assert run.given == alone.given
    assert run.valid
    assert run.extending == 1.0


def test_a_hook_may_forbid_a_tool():
    run = naive(hooks=[(events.TOOL_PRE, refuse)]).run(reading(files=1, lines=5))
    assert run.given[2]["content"] == "Denied by hook: not today"


# How a context module comes in


def test_a_module_from_a_folder_is_validated_and_mounted_twice_and_an_installed_one_once(tmp_path):
    folder = tmp_path / "amplifier_module_context_counted"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text(
        "from tests.amplifier.naive import Everything\n"
        '__amplifier_module_type__ = "context"\n'
        "MOUNTED = []\n"
        "async def mount(coordinator, config=None):\n"
        "    MOUNTED.append((type(coordinator).__name__, config))\n"
        '    await coordinator.mount("context", Everything())\n'
    )
    config = {"max_tokens": 9}
    World("context-counted", config, Provider(ROOMY), sources={"context-counted": tmp_path}).run(work(1, 1))
    mounted = sys.modules.pop(folder.name).MOUNTED
    assert mounted == [("MockCoordinator", config), ("RustCoordinator", config)]

    sys.path.insert(0, str(tmp_path))
    try:
        modules = {"context-counted": f"{folder.name}:mount"}
        World("context-counted", config, Provider(ROOMY), modules=modules).run(work(1, 1))
    finally:
        sys.path.remove(str(tmp_path))
    mounted = sys.modules.pop(folder.name).MOUNTED
    assert mounted == [("RustCoordinator", config)]


def test_a_package_below_src_is_not_found_from_the_folder_above(tmp_path):
    package = tmp_path / "src" / "amplifier_module_context_hidden"
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("from tests.amplifier.naive import mount\n")
    with pytest.raises(RuntimeError, match="has no valid Python package"):
        World("context-hidden", sources={"context-hidden": tmp_path}).run([])


def test_a_host_may_restore_a_session_and_work_with_it_step_by_step():
    async def play() -> Any:
        async with naive().open(
            resumed=[{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
        ) as live:
            assert await live.turn(Turn("and now?", (say("still"),))) == "still"
            return await live.report()

    run = asyncio.run(play())
    assert [message["content"] for message in run.kept][:3] == ["before", "yes", "and now?"]
    assert run.count(events.SESSION_RESUME) == 1
    assert run.complete


# What the measures see


class Forgetful(Everything):
    """Sends the newest five messages only."""

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any | None = None) -> list[Any]:
        return self.messages[-5:]

    @staticmethod
    async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
        await coordinator.mount("context", Forgetful())


class Meddling(Everything):
    """Shortens the first message, writes its own key into each, and says that it compacts whenever asked."""

    coordinator: Any

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any | None = None) -> list[Any]:
        await self.coordinator.hooks.emit(events.CONTEXT_COMPACTION, {"before_tokens": 2, "after_tokens": 1})
        first, *rest = self.messages
        view = [{**first, "content": first["content"][:20] + f" [{len(rest)} more]"}, *rest]
        return [{**message, "_mine": 1} for message in view]

    async def get_messages(self) -> list[dict[str, Any]]:
        return self.messages[:-1]

    @staticmethod
    async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
        context = Meddling()
        context.coordinator = coordinator
        await coordinator.mount("context", context)


def test_the_measures_see_a_context_that_forgets():
    run = broken(Forgetful).run(work(turns=2, rounds=6))
    assert any("without that call before it" in line for line in run.problems)
    assert any("first user message" in line for line in run.problems)
    assert not run.users_whole
    assert run.extending < 0.5
    assert run.complete


def test_the_measures_see_a_context_that_meddles():
    run = broken(Meddling).run(work(turns=1, rounds=4))
    assert not run.users_whole
    assert run.extras == {"_mine"}
    assert not run.complete
    assert run.extending == 0.0
    assert run.compactions_per_request == 1.0


def test_a_strict_provider_refuses_what_the_judge_finds():
    world = broken(Forgetful)
    world.provider = Provider(ROOMY, strict=True)
    run = world.run(work(turns=1, rounds=6))
    assert "InvalidRequestError" in str(run.errors[0])


def test_results_are_the_same_for_the_same_arguments_and_of_any_size():
    async def lengths() -> list[int]:
        tools = {tool.name: tool for tool in naive().tools}
        sizes = [10, 100, 100, 1_000]
        results = [await tools["read_file"].execute({"path": "a", "lines": lines}) for lines in sizes]
        return [len(result.get_serialized_output()) for result in results]

    small, medium, again, large = asyncio.run(lengths())
    assert small * 8 < medium == again
    assert medium * 8 < large
