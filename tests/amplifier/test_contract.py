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
from backscroll.adapters.amplifier.context import AmplifierContext, OldContext
from backscroll.adapters.amplifier.signals import ALL, ERROR_EVENTS, NAME, USAGE_EVENTS
from tests.amplifier.ours import PACKAGE, ROOT, awaited, mounted, say, session
from tests.amplifier.provider import Provider
from tests.amplifier.scripts import work
from tests.amplifier.suites import BEHAVIOR, CHECKS, behave, validated
from tests.amplifier.world import World

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
def test_a_session_mounts_it_by_name(kind):
    run = session(work(turns=1, rounds=2), session=kind)
    assert run.count(events.MESSAGE_ADDED) == len(run.given)
    assert (run.valid, run.complete, run.errors) == (True, True, [])


@pytest.mark.parametrize(("contract", "kind"), [("2.1.0", AmplifierContext), ("1.0", OldContext)])
def test_the_contract_decides_what_is_mounted(contract, kind):
    @awaited
    async def play() -> None:
        async with World(NAME, {"contract": contract}).open() as live:
            assert type(live.module) is kind

    play()


@SESSIONS
@pytest.mark.parametrize("source", [ROOT, PACKAGE], ids=["repository", "package"])
def test_a_session_loads_it_from_a_folder_and_mounts_it_twice_without_harm(kind, source, tmp_path):
    config = {"transcript_path": str(tmp_path / "transcript.jsonl")}
    provider = Provider(28_000)
    run = World(NAME, config, provider, sources={NAME: source}, session=kind).run(work(turns=1, rounds=3))
    assert (run.valid, run.complete, run.errors) == (True, True, [])
    assert len((tmp_path / "transcript.jsonl").read_text().splitlines()) == len(run.given)


@awaited
async def test_what_was_mounted_for_the_validator_hears_nothing_of_the_session():
    async with World(NAME, sources={NAME: ROOT}).open() as live:
        heard = live.session.coordinator.hooks.list_handlers()
        for event in USAGE_EVENTS:
            assert heard[event].count(f"{NAME}:usage:{event}") == 1
        assert len(await live.session.coordinator.collect_contributions("observability.events")) == 1


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
        assert set(ours.coordinator.mount_points["tools"]) == {"recall"}
        await ours.add(say("user", "go"))
        assert await ours.view() == [say("user", "go")]


@awaited
async def test_the_configuration_stays_as_the_host_wrote_it(tmp_path):
    config = {
        "max_tokens": 20_000,
        "prices": {"cache_read": 0.1},
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
async def test_every_event_is_told_to_the_hosts_observability():
    async with mounted() as ours:
        assert await ours.coordinator.collect_contributions("observability.events") == [list(ALL)]
    assert set(events.ALL) < set(ALL)
    assert {kernel.CONTEXT_PRE_COMPACT, kernel.CONTEXT_POST_COMPACT, kernel.CONTEXT_COMPACTION} < set(ALL)


# Taking it out


@awaited
async def test_after_its_cleanup_it_hears_nothing_and_a_second_cleanup_does_nothing():
    async with mounted() as ours:
        hooks = ours.coordinator.hooks
        assert _ours(hooks) == {*USAGE_EVENTS, *ERROR_EVENTS}
        await ours.cleanup()
        assert _ours(hooks) == set()
        assert await ours.cleanup() is None
        await ours.add(say("user", "late"))
        assert len(await ours.kept()) == 1


def _ours(hooks: Any) -> set[str]:
    """Events that our module listens to."""
    listed = hooks.list_handlers()
    return {event for event, names in listed.items() if any(name.startswith(NAME) for name in names)}


@SESSIONS
@awaited
async def test_a_session_that_ends_takes_it_out(kind):
    async with World(NAME, session=kind).open() as live:
        hooks = live.session.coordinator.hooks
        assert _ours(hooks) == {*USAGE_EVENTS, *ERROR_EVENTS}
        await live.session.cleanup()
        assert _ours(hooks) == set()
