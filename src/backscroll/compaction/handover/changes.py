"""Say which files are changed and in no commit, each since the newest commit of its repository."""

from collections.abc import Iterator, Sequence

from backscroll.compaction.handover.paths import in_full
from backscroll.compaction.handover.repository import covers, is_scratch
from backscroll.history.ledger import Fact
from backscroll.history.plan import DigestLine

_HASH = 10  # characters of a commit's hash


def change_lines(facts: Sequence[Fact], root: str, most: int) -> Iterator[DigestLine]:
    """Yield a line for each commit since which files changed, the newest first.

    Args:
        facts: All facts, in order.
        root: The folder to which paths are relative, with a slash at its end.
        most: Files that a line names.
    """
    groups = _groups(facts, root)
    if not any(kind == "since" for kind, _ in groups):
        yield from _settled(facts, root)
    for (kind, base), files in sorted(groups.items(), key=lambda group: -group[1][-1].seq):
        named = [in_full(fact.key, root) for fact in files[-most:]]
        more = [f"and {len(files) - most} more"] if len(files) > most else []
        text = f"{_label(kind, base)}: {', '.join([*named, *more])}"
        yield DigestLine(min(fact.seq for fact in files), max(fact.seq for fact in files), "state", text)


def _groups(facts: Sequence[Fact], root: str) -> dict[tuple[str, Fact | None], list[Fact]]:
    """Return the files that are in no commit of the session, by what there is to say of them."""
    groups: dict[tuple[str, Fact | None], list[Fact]] = {}
    commits = [(at, fact) for at, fact in enumerate(facts) if fact.kind == "commit" or _is_of_others(fact)]
    for at, fact in enumerate(facts):
        if fact.kind != "file" or not fact.times or (is_scratch(fact.key) and not is_scratch(root)):
            continue
        holding = ((place > at, each) for place, each in reversed(commits) if _may_hold(each, fact, root))
        behind, base = next(holding, (False, None))
        if fact.outcome == "stashed":
            groups.setdefault(("stashed", None), []).append(fact)
        elif not fact.outcome and not (behind and base and base.kind == "commit"):
            groups.setdefault(("before" if behind else "since", base), []).append(fact)
    return groups


def _is_of_others(fact: Fact) -> bool:
    return fact.kind == "head" and bool(fact.times)


def _settled(facts: Sequence[Fact], root: str) -> Iterator[DigestLine]:
    """Yield the newest commit, where nothing was changed since."""
    commits = [fact for fact in facts if fact.kind == "commit" and not (fact.failed and fact.key)]
    for commit in [fact for fact in commits if is_scratch(root) or not is_scratch(fact.key)][-1:]:
        text = f"Newest commit: {commit.outcome[:_HASH]} “{commit.text}”; no change of a file seen since"
        yield DigestLine(commit.seq, commit.seq, "state", text.replace(":  ", ": "))


def _may_hold(commit: Fact, file: Fact, root: str) -> bool:
    if commit.failed and commit.key:  # the first commit of a repository that was made there
        return f"/{commit.key.lstrip('./')}/" in f"/{file.key}"
    return covers(commit.key, file.key, root)


def _label(kind: str, base: Fact | None) -> str:
    if kind == "stashed":
        return "Changed, and put into the stash of git"
    if base is None:
        return "Changed, and no commit seen"
    commit = f"{base.outcome[:_HASH]} “{base.text}”".lstrip()
    if kind == "before":
        return f"Changed before `git log` showed {commit}, which the agent did not make and which may hold it"
    return f"Changed since the commit {commit}"
