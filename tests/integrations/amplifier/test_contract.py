"""The module as the kernel takes it in: found, judged, mounted, heard of, and taken out again."""

import copy
import importlib.metadata
from typing import Any

import pytest
from amplifier_core import AmplifierSession as RustSession
from amplifier_core import events as kernel
from amplifier_core.cli import cli
from amplifier_core.session import AmplifierSession as PlainSession
from amplifier_core.testing import MockCoordinator
from click.testing import CliRunner

import amplifier_module_context_backscroll as module
from backscroll import events
from backscroll.integrations.amplifier.context import AmplifierContext
from backscroll.integrations.amplifier.hooks import ALL, BEGIN_EVENTS, ERROR_EVENTS, NAME, USAGE_EVENTS
from backscroll.integrations.amplifier.old_context import OldContext
from tests.integrations.amplifier.harness import PACKAGE, ROOT, awaited, mounted, say
from tests.integrations.amplifier.kernel import kernel_session
from tests.integrations.amplifier.suites import BEHAVIOR, CHECKS, behave, validated

REACHED = "Context implements ContextManager interface"
CONTRACTS = ("2.1.0", "1.0")
SESSIONS = pytest.mark.parametrize("kind", [RustSession, PlainSession], ids=["rust", "python"])


def installed() -> Any:
    """What is loaded by the name under which the module is installed."""
    (found,) = importlib.metadata.entry_points(group="amplifier.modules", name=NAME)
    return found.load()


# amplifier-core's own checks


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("test", BEHAVIOR)
def test_the_suite_of_behavior_is_content(test, contract):
    behave(module.mount, test, {"contract": contract})


def test_the_suite_of_behavior_has_the_ten_tests_that_are_meant():
    assert len(BEHAVIOR) == 10


@pytest.mark.parametrize("test", BEHAVIOR)
def test_the_suite_of_behavior_is_content_with_what_is_installed(test):
    behave(installed(), test)


@pytest.mark.parametrize("contract", CONTRACTS)
@pytest.mark.parametrize("where", [str(PACKAGE), str(PACKAGE / "__init__.py"), module.__name__])
def test_the_validator_reaches_the_interface_and_is_content(where, contract):
    passed = validated(where, {"contract": contract})
    assert tuple(passed) == CHECKS
    assert passed["protocol_compliance"] == REACHED


@pytest.mark.parametrize("where", [PACKAGE, PACKAGE / "__init__.py"])
def test_the_command_line_of_amplifier_core_is_content(where):
    done = CliRunner().invoke(cli, ["validate", "context", str(where)])
    assert done.exit_code == 0
    assert "PASSED: 9/9 checks passed (0 errors, 0 warnings)" in done.output
    assert all(f"{check}:" in done.output for check in CHECKS)
    assert REACHED in done.output


def test_the_module_says_what_it_is():
    assert module.__amplifier_module_type__ == "context"
    assert installed() is module.mount


# In a session


@SESSIONS
@awaited
async def test_a_session_mounts_it_by_name(kind):
    async with kernel_session(kind=kind) as session:
        await session.execute("go")
        assert await session.coordinator.get("context").get_messages() == [say("user", "go")]


@pytest.mark.parametrize(("contract", "kind"), [("2.1.0", AmplifierContext), ("1.0", OldContext)])
@awaited
async def test_the_contract_decides_what_is_mounted(contract, kind):
    async with kernel_session({"contract": contract}) as session:
        assert type(session.coordinator.get("context")) is kind


@SESSIONS
@pytest.mark.parametrize("source", [ROOT, PACKAGE], ids=["repository", "package"])
@awaited
async def test_session_loads_the_module_from_a_folder_and_mounts_twice(kind, source, tmp_path):
    """A session loads it from a folder and mounts it twice without harm."""
    async with kernel_session({"transcript_path": str(tmp_path / "t.jsonl")}, kind, source) as session:
        await session.execute("go")
        await session.execute("and again")
    assert len((tmp_path / "t.jsonl").read_text().splitlines()) == 2


@awaited
async def test_validators_mount_hears_nothing_of_the_session():
    """What was mounted for the validator hears nothing of the session."""
    async with kernel_session(source=ROOT) as session:
        heard = session.coordinator.hooks.list_handlers()
        for event in USAGE_EVENTS:
            assert heard[event].count(f"{NAME}:usage:{event}") == 1
        assert len(await session.coordinator.collect_contributions("observability.events")) == 1


# Mounting


@awaited
async def test_mounting_opens_no_file(tmp_path):
    async with mounted({"transcript_path": str(tmp_path / "deep" / "transcript.jsonl")}) as ours:
        assert list(tmp_path.iterdir()) == []
        await ours.add(say("user", "go"))
        assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@pytest.mark.parametrize("config", [None, {}])
@awaited
async def test_it_mounts_without_a_configuration(config):
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        assert await ours.view() == [say("user", "go")]


@awaited
async def test_the_configuration_stays_as_the_host_wrote_it(tmp_path):
    config = {
        "max_tokens": 20_000,
        "cache_pricing": {"read": 0.1},
        "memory_files": [str(tmp_path / "MEMORY.md")],
        "persistence": {"enabled": True, "storage_path": str(tmp_path)},
    }
    (tmp_path / "MEMORY.md").write_text("Answer in French.")
    before = copy.deepcopy(config)
    async with mounted(config) as ours:
        await ours.add(say("user", "go"))
        await ours.view()
    assert config == before


@awaited
async def test_a_second_mount_on_one_coordinator_replaces_the_first():
    coordinator = MockCoordinator()
    async with mounted(coordinator=coordinator) as first:
        before = first.context
        async with mounted(coordinator=coordinator) as second:
            assert second.context is not before
            await second.add(say("user", "go"))
            assert len(await second.kept()) == 1
    assert await before.get_messages() == []


@awaited
async def test_observability_gets_our_events_and_two_of_the_kernel():
    """The hosts observability is given our events and no event of the kernel but two."""
    async with mounted() as ours:
        (given,) = await ours.coordinator.collect_contributions("observability.events")
    assert set(events.ALL) < set(ALL)
    assert set(ALL) - set(given) == {kernel.CONTEXT_COMPACTION, kernel.CONTEXT_INCLUDE, events.MESSAGE_ADDED}
    assert set(given) & set(kernel.ALL_EVENTS) == {kernel.CONTEXT_PRE_COMPACT, kernel.CONTEXT_POST_COMPACT}


# Taking it out


@awaited
async def test_cleanup_ends_listening_and_may_run_twice():
    """After its cleanup it hears nothing and a second cleanup does nothing."""
    async with mounted() as ours:
        hooks = ours.coordinator.hooks
        assert _ours(hooks) == {*USAGE_EVENTS, *ERROR_EVENTS, *BEGIN_EVENTS}
        await ours.cleanup()
        assert _ours(hooks) == set()
        assert await ours.cleanup() is None  # type: ignore[func-returns-value]  # as the contract has it
        await ours.add(say("user", "late"))
        assert len(await ours.kept()) == 1


def _ours(hooks: Any) -> set[str]:
    """Events that our module listens to."""
    listed = hooks.list_handlers()
    return {event for event, names in listed.items() if any(name.startswith(NAME) for name in names)}


@SESSIONS
@awaited
async def test_a_session_that_ends_takes_it_out(kind):
    async with kernel_session(kind=kind) as session:
        hooks = session.coordinator.hooks
        assert _ours(hooks) == {*USAGE_EVENTS, *ERROR_EVENTS, *BEGIN_EVENTS}
        await session.cleanup()
        assert _ours(hooks) == set()
