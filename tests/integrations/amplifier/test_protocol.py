"""What hosts look for on a context and in what it returns: names, parameters, metadata, errors. No host is needed."""

import asyncio
import inspect
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from amplifier_core import HookResult, LLMError
from amplifier_core.llm_errors import ContextLengthError

from backscroll.events import COMPACTION, INCLUDE, PRE_COMPACT
from tests.integrations.amplifier.harness import AmplifierHarness, awaited, call, mounted, result, rounds, say
from tests.integrations.amplifier.provider import Message
from tests.integrations.amplifier.scenarios import words

SECONDS = 10
"""Limit of what must not deadlock; nothing is measured by it."""

PASSED_BY_HOSTS = {
    "set_system_prompt_factory": ("factory",),
    "add_message": ("message",),
    "get_messages": (),
    "get_messages_for_request": ("token_budget", "provider"),
    "set_messages": ("messages",),
    "clear": (),
    "compact": ("focus",),
}
"""Parameters of the contract's methods by the names with which hosts pass them."""

OF_OTHER_MANAGERS = (
    "messages",  # with it, loops of 2025 compact by themselves
    "max_tokens",  # a host sets these three where they exist
    "compact_threshold",
    "auto_compact",
    "record_observed_input_tokens",
    "set_observed_input_tokens",
    "restore_host_checkpoint",
)
"""What hosts use only where it exists, and what we do not have."""

CAPABILITIES = {
    "context.request_retention": True,
    "context.foreground_usage": True,
    "context.measured_request_view": False,
    "context.instructions.v1": False,
    "context.history": False,
    "context.history_authority": False,
    "context.compacting": False,
}
"""Whether we register each capability that hosts look for: a registered one has to be whole."""


# What is there


@pytest.mark.parametrize(("name", "parameters"), PASSED_BY_HOSTS.items())
@awaited
async def test_contract_method_is_async_with_known_names(name, parameters):
    """Hosts await each method and pass its parameters by name."""
    async with mounted() as ours:
        method = getattr(ours.context, name)
        assert inspect.iscoroutinefunction(method)
        assert tuple(inspect.signature(method).parameters)[: len(parameters)] == parameters


@awaited
async def test_context_is_true_hashable_and_weakly_referable():
    """Hosts test it for truth also while it is empty, and loops keep recorders in a weak mapping by context."""
    async with mounted() as ours:
        assert bool(ours.context)
        assert weakref.WeakKeyDictionary({ours.context: 1})[ours.context] == 1


@pytest.mark.parametrize("name", OF_OTHER_MANAGERS)
@awaited
async def test_context_has_no_name_that_starts_other_work(name):
    async with mounted() as ours:
        assert not hasattr(ours.context, name)


@pytest.mark.parametrize(("name", "registered"), CAPABILITIES.items())
@awaited
async def test_capability_is_registered_whole_or_not_at_all(name, registered):
    async with mounted() as ours:
        assert (ours.coordinator.get_capability(name) is not None) is registered


# Metadata

METADATA = {
    "ephemeral": True,
    "persisted": True,
    "reminder_placement": "pre_user",
    "source": "hook",
    "hook_name": "todo",
    "event": "prompt:submit",
    "kind": "status",
    "activation_id": "a-1",
    "amplifier:input": {"id": 1, "parts": ["text"]},
    "openai:response_id": "resp_1",
    "openai:reasoning": None,
}


@pytest.mark.parametrize("role", ["user", "assistant", "developer"])
@awaited
async def test_metadata_of_hosts_is_kept_and_sent(role):
    """Loops find reminders by equality, providers find their own keys, hooks theirs: nothing is altered or left out."""
    message = say(role, "3 tasks are open.", metadata=METADATA, thinking_block={"type": "thinking", "signature": "s"})
    async with mounted() as ours:
        await ours.add(say("user", "go"), message)
        assert (await ours.kept())[1] == message
        assert (await ours.view())[1] == message


# The system prompt factory while a request runs


@awaited
async def test_factory_may_be_set_while_a_request_runs():
    """A hook sets its wrapper within a request, from an event of it; the next request has the wrapper's text."""
    async with mounted({"max_tokens": 3_000}) as ours:
        await ours.context.set_system_prompt_factory(spoken("Be brief."))
        wrapper = spoken("Be thorough.")

        async def wrap(event: str, data: dict[str, Any]) -> HookResult:
            await ours.context.set_system_prompt_factory(wrapper)
            return HookResult()

        ours.coordinator.hooks.register(PRE_COMPACT, wrap, name="wrap")
        await ours.add(say("user", "Read all."), *rounds(range(20), words(60)))
        await asyncio.wait_for(ours.view(), SECONDS)
        assert ours.context._system_prompt_factory is wrapper
        assert (await ours.view())[0] == say("system", "Be thorough.")


@awaited
async def test_factory_may_read_and_replace_itself():
    """A factory that reads the history and sets another one is not called twice, and nothing waits for itself."""
    called = []
    async with mounted() as ours:

        async def once() -> str:
            called.append(len(await ours.context.get_messages()))
            await ours.context.set_system_prompt_factory(spoken("Later."))
            return "First."

        await ours.context.set_system_prompt_factory(once)
        await ours.add(say("user", "go"))
        assert (await asyncio.wait_for(ours.view(), SECONDS))[0]["content"] == "First."
        assert (await ours.view())[0]["content"] == "Later."
        assert called == [1]


def spoken(text: str) -> Callable[[], Any]:
    async def factory() -> str:
        return text

    return factory


# Errors


class BrokenProvider:
    """Raises a `TypeError` wherever it is asked for its window."""

    name = "broken"

    def get_info(self) -> Any:
        raise TypeError("get_info() is broken")


def broken_factory() -> str:
    raise TypeError("the factory is broken")


async def views_of(ours: AmplifierHarness, **more: Any) -> list[Message]:
    """By the contract's method, as a loop asks for a smaller view."""
    return await ours.context.get_messages_for_request(token_budget=5_000, **more)


async def retained(ours: AmplifierHarness, **more: Any) -> list[Message]:
    retain = ours.coordinator.get_capability("context.request_retention")
    return await retain(retain_contents=[], token_budget=5_000, **more)


@pytest.mark.parametrize("ask", [views_of, retained])
@awaited
async def test_request_lets_no_type_error_escape(ask):
    """A loop takes a TypeError for a missing parameter `token_budget`, so a fault of the host's has another type."""
    async with mounted() as ours:
        await ours.add(say("user", "go"))
        await ours.context.set_system_prompt_factory(broken_factory)
        with pytest.raises(RuntimeError, match="the factory is broken") as raised:
            await ask(ours)
        assert isinstance(raised.value.__cause__, TypeError)
        await ours.context.set_system_prompt_factory(None)
        assert await ask(ours, provider=BrokenProvider()) == [say("user", "go")]


@awaited
async def test_no_room_is_the_kernels_error_with_its_fields():
    """Hosts read the provider, the model and whether to try again; the base class is the kernel's `LLMError`."""

    class Small:
        name, default_model = "small", "small-1"

    async with mounted() as ours:
        await ours.add(say("system", words(1_000)), say("user", "go"))
        with pytest.raises(ContextLengthError) as raised:
            await ours.context.get_messages_for_request(500, Small())
        error = raised.value
        assert isinstance(error, LLMError)
        assert (error.provider, error.model, error.status_code, error.retryable) == ("small", "small-1", None, False)
        assert str(error).startswith("context length exceeded: ")


# Events


@awaited
async def test_compaction_event_has_the_settings_that_protect():
    """Readers of context-simple's event know how many messages were protected."""
    async with mounted({"max_tokens": 3_000, "protected_recent": 0.2, "protected_tool_results": 3}) as ours:
        await ours.add(say("user", "Read all."), *rounds(range(20), words(60)))
        await ours.view()
        (done,) = ours.payloads(COMPACTION)
        assert (done["protected_recent"], done["protected_tool_results"]) == (0.2, 3)


@awaited
async def test_include_event_has_a_short_text_and_its_place(tmp_path):
    """A host logs the event whole, so a long system prompt is cut; the path is there where there is one."""
    memory = tmp_path / "MEMORY.md"
    memory.write_text("Answer in French. " * 100)
    async with mounted({"memory_files": [str(memory)]}) as ours:
        await ours.context.set_system_prompt_factory(spoken("Be brief. " * 100))
        await ours.add(say("user", "go"))
        await ours.view()
        told = {data["source"]: data for data in ours.payloads(INCLUDE)}
        assert [len(data["content"]) for data in told.values()] == [200, 200]
        assert told[str(memory)]["path"] == str(memory)
        assert sorted(data["characters"] for data in told.values()) == [1_000, 1_800]


# Lists that hosts set while a session runs


@awaited
async def test_last_message_with_an_image_keeps_the_requests_prefix():
    """A hook replaces the newest message by one with an image, right before a request: all before it is sent as is."""
    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "Read all."), *rounds(range(30), words(60)))
        await ours.view()  # a compaction that the message itself causes has it in its state, which is written again
        await ours.add(say("user", "Look."))
        before = await ours.view()
        assert len(before) < 62
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
        last = say("user", [{"type": "text", "text": "Look."}, image])
        await ours.context.set_messages([*(await ours.kept())[:-1], last])
        assert await ours.view() == [*before[:-1], last]
        assert len(ours.payloads(COMPACTION)) == 1


@awaited
async def test_replaced_last_message_changes_only_the_state():
    """It caused a compaction, whose state names it as the request: all but these lines is sent as before."""
    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "Read all."), *rounds(range(30), words(60)), say("user", "Look."))
        before = await ours.view()
        last = say("user", "Look at it again.")
        await ours.context.set_messages([*(await ours.kept())[:-1], last])
        after = await ours.view()
        (at,) = [number for number, message in enumerate(before) if "Current request: Look." in message["content"]]
        assert after == [*before[:at], after[at], *before[at + 1 : -1], last]
        state = "State as of message 61; newer messages below override it:\n- [ref:61] Current request: Look.\n"
        assert after[at]["content"] == before[at]["content"].replace(state, "")
        assert len(ours.payloads(COMPACTION)) == 1


@awaited
async def test_message_set_in_front_is_sent_and_kept():
    """A hook inserts a message before all others and sets the whole list: the next request is compacted again."""
    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "Read all."), *rounds(range(30), words(60)))
        await ours.view()
        front = say("developer", "The surface is a terminal.")
        everything = [front, *(await ours.kept())]
        await ours.context.set_messages(everything)
        assert (await ours.view())[0] == front
        assert await ours.kept() == everything


@pytest.mark.parametrize("where", ["store", "transcript_path", None])
@awaited
async def test_live_rewind_and_clear_with_a_system_message(where, tmp_path):
    """A host sets a prefix of the history, and later only its system message: both at once, also after a resume."""
    path = {"store": f"sqlite:///{tmp_path}/agent.db", "transcript_path": str(tmp_path / "t.jsonl")}
    config = {where: path[where]} if where else {}
    rule = say("system", "Be brief.")
    talk = [rule, say("user", "go"), call("c0"), result("c0", "done"), say("assistant", "Done."), say("user", "again")]
    async with mounted(config) as ours:
        await ours.add(*talk)
        await ours.view()
        await ours.context.set_messages(talk[:5])
        assert await ours.view() == await ours.kept() == talk[:5]
    async with mounted(config) as ours:
        if where is None:
            await ours.add(*talk[:5])
        await ours.context.set_messages([rule])
        assert await ours.view() == await ours.kept() == [rule]


@awaited
async def test_two_open_contexts_of_a_transcript_see_their_own(tmp_path):
    """A transcript is read once: what another process adds is in the file, and comes with the next resume."""
    config = {"transcript_path": str(tmp_path / "t.jsonl")}
    async with mounted(config) as left, mounted(config) as right:
        await left.add(say("user", "go"))
        assert await right.kept() == [say("user", "go")]
        await left.add(say("assistant", "left"))
        await right.add(say("assistant", "right"))
        assert [m["content"] for m in await left.kept()] == ["go", "left"]
        assert [m["content"] for m in await right.kept()] == ["go", "right"]
    async with mounted(config) as later:
        assert [m["content"] for m in await later.kept()] == ["go", "left", "right"]


# Cancelled requests


@awaited
async def test_request_that_is_cancelled_leaves_the_next_whole():
    """A user's Ctrl-C ends a request while its factory runs; the next one is what it would have been."""
    begun = asyncio.Event()

    async def waiting() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with mounted({"max_tokens": 6_000}) as ours:
        await ours.add(say("user", "Read all."), *rounds(range(30), words(60)))
        await ours.context.set_system_prompt_factory(waiting)
        asked = asyncio.create_task(ours.view())
        await begun.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await ours.context.set_system_prompt_factory(spoken("Be brief."))
        view = await asyncio.wait_for(ours.view(), SECONDS)
        assert view[0] == say("system", "Be brief.")
        assert len(await ours.kept()) == 61
