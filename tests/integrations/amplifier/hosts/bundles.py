"""Bundles of the hosts' modules with ours as the context, prepared as hosts do it. Runs inside a journey's process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.integrations.amplifier.hosts.running import HOSTS, ROOT

INSTRUCTION = "You are a careful engineer. Follow @RULES.md in all you do."
RULES = "Never touch settings.toml. Name the file of each change."
AGENTS = {"reader": {"description": "Reads files.", "instruction": "You read files and say what they do."}}

_OWN = Path(__file__).parent / "modules"
_FOUNDATION = HOSTS / "amplifier-foundation" / "modules"
_SOURCES = {
    "context-backscroll": ROOT,
    "provider-scripted": _OWN,
    "tool-scripted": _OWN,
    "tool-delegate": _FOUNDATION / "tool-delegate",
    "hooks-session-naming": _FOUNDATION / "hooks-session-naming",
    "hooks-routing": HOSTS / "amplifier-bundle-routing-matrix" / "modules" / "hooks-routing",
}


def entry(module: str, **config: Any) -> dict[str, Any]:
    """A module of a bundle, with the folder that it is loaded from."""
    source = _SOURCES.get(module, HOSTS / f"amplifier-module-{module}")
    return {"module": module, "source": str(source), "config": config}


def keeping(kind: str, folder: Path, name: str = "kept") -> dict[str, Any]:
    """The configuration that keeps a session that way."""
    kept = {
        "memory": {},
        "store": {"store": f"sqlite:///{folder / name}.db"},
        "storage_path": {"storage_path": str(folder / name)},
        "transcript_path": {"transcript_path": str(folder / f"{name}.jsonl")},
    }
    return kept[kind]


async def prepare(
    context: Mapping[str, Any],
    loop: str = "loop-streaming",
    providers: Sequence[dict[str, Any]] = (),
    tools: Sequence[dict[str, Any]] = (),
    hooks: Sequence[dict[str, Any]] = (),
    agents: Mapping[str, Any] = AGENTS,
) -> Any:
    """A prepared bundle with these modules; its instruction mentions a file of the project."""
    from amplifier_foundation import Bundle  # type: ignore[import-not-found]  # a host, at hand in this process only

    Path("RULES.md").write_text(RULES, encoding="utf-8")
    bundle = Bundle(
        name="journey",
        session={"orchestrator": entry(loop), "context": entry("context-backscroll", **context)},
        providers=list(providers) or [entry("provider-scripted")],
        tools=[entry("tool-scripted"), *tools],
        hooks=list(hooks),
        agents={name: dict(agent) for name, agent in agents.items()},
        instruction=INSTRUCTION,
        base_path=Path.cwd(),
    )
    return await bundle.prepare(install_deps=False, strict=True)
