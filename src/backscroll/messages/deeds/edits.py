"""Calls that change files: by the text that they write, the text that they replace, or a patch."""

from collections.abc import Mapping
from typing import Any

from backscroll.messages.deeds.arguments import NEW_TEXTS, OLD_TEXTS, Arguments, first_text, path_in
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.ending import NO_RESULT, Ending
from backscroll.messages.deeds.envelopes import Framed
from backscroll.messages.deeds.names import changed_names
from backscroll.messages.deeds.outcomes import ending_of
from backscroll.messages.deeds.patches import edits_in, is_patch, replaced_in
from backscroll.messages.deeds.texts import bounded
from backscroll.messages.deeds.verbs import reads_by_name, words_of

_FILES = 50  # files of one call
_EDITS = 200
_PATCHES = ("input", "patch", "patchText", "diff", "patch_text", "unified_diff")
_SOURCES = ("source", "src", "old_path", "from", "source_path", "oldPath", "from_path")
_TARGETS = ("destination", "dest", "dst", "new_path", "to", "target_path", "destination_path", "newPath", "to_path")
_EDITS_BY_NAME = frozenset("edit replace insert patch update modify append apply change".split())
_HOW = {"create_file": "created", "delete_file": "deleted"}
"""Types of the operation of OpenAI's own tool for patches."""
_COMMANDS = frozenset(("create", "str_replace", "insert", "undo_edit", "view"))
"""Commands of the editor that several frameworks have after Anthropic's."""


def edit_deeds(name: str, arguments: Arguments, framed: Framed | None) -> list[Deed]:
    """Return the edits of a call, file by file; none if it changes no file."""
    ending = _ending(framed)
    if patch := next((value for key in _PATCHES if is_patch(value := first_text(arguments, (key,)))), ""):
        edits = edits_in(patch)[:_FILES]
        return [_edit(edit.path, edit.how, edit.old, edit.new, ending) for edit in edits]
    files = arguments.get("files")
    if isinstance(files, list) and files and all(_is_file(each) for each in files):
        return [_edit(path_in(each), "edited", "", _new(each), ending) for each in files[:_FILES]]
    path = path_in(arguments)
    if isinstance(command := arguments.get("command"), str) and path and command in _COMMANDS:
        return [] if command == "view" else [_by_command(command, path, arguments, ending)]
    return _by_texts(name, path, arguments, framed, ending) or _by_name(name, path, arguments, ending)


def _ending(framed: Framed | None) -> Ending:
    ending = ending_of(framed) if framed else NO_RESULT
    return ending if ending.failed or framed is None else Ending()  # what hosts say of a success repeats the arguments


def _is_file(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(path_in(value))
        and any(isinstance(value.get(key), str) for key in NEW_TEXTS)
    )


def _new(arguments: Arguments) -> str:
    return next((value for key in NEW_TEXTS if isinstance(value := arguments.get(key), str)), "")


def _by_command(command: str, path: str, arguments: Arguments, ending: Ending) -> Deed:
    how = "created" if command == "create" else "edited"
    return _edit(path, how, first_text(arguments, OLD_TEXTS), _new(arguments), ending)


def _by_texts(name: str, path: str, arguments: Arguments, framed: Framed | None, ending: Ending) -> list[Deed]:
    """Return the edit of a call with the text that it writes, and perhaps the text that this replaces."""
    edits = arguments.get("edits") or arguments.get("ReplacementChunks")
    old, new = first_text(arguments, OLD_TEXTS), _new(arguments)
    writes = any(isinstance(arguments.get(key), str) for key in NEW_TEXTS)
    if not path and framed and framed.file and (old or words_of(name) == ("insert",)):
        path, new, writes = framed.file, first_text(arguments, ("replace", "text")), True
    if path and isinstance(edits, list) and edits:
        texts = [each for each in edits[:_EDITS] if isinstance(each, Mapping)]
        old = "\n".join(first_text(each, OLD_TEXTS) for each in texts)
        return [_edit(path, "edited", old, "\n".join(_new(each) for each in texts), ending)]
    if path and first_text(arguments, ("diff",)).lstrip().startswith("@@"):
        hunk = edits_in(f"*** Update File: {path}\n{arguments['diff']}")[0]
        return [_edit(path, _HOW.get(str(arguments.get("type")), "edited"), hunk.old, hunk.new, ending)]
    if path and (replaced := replaced_in(first_text(arguments, ("diff", "content")))):
        return [_edit(path, "edited", *replaced, ending)]
    if not path or not writes or (reads_by_name(name) and not old):
        return []
    edits_it = old or (_EDITS_BY_NAME.intersection(words_of(name)) and "create" not in words_of(name))
    deletes = arguments.get("edit_mode") == "delete"
    return [_edit(path, "deleted" if deletes else "edited" if edits_it else "created", old, new, ending)]


def _by_name(name: str, path: str, arguments: Arguments, ending: Ending) -> list[Deed]:
    """Return the edits of a call whose name says that it deletes, moves or creates a file."""
    words = set(words_of(name))
    if words & {"delete", "remove", "rm", "unlink"} and path and not words & {"directory", "folder", "dir"}:
        return [_edit(path, "deleted", "", "", ending)]
    source, target = first_text(arguments, _SOURCES), first_text(arguments, _TARGETS)
    if words & {"move", "rename", "mv"} and source and target and ("file" in words or "/" in source):
        return [_edit(source, "deleted", "", "", ending), _edit(target, "created", "", "", ending)]
    if words in ({"create"}, {"create", "file"}, {"write", "file"}, {"touch"}) and path:
        return [_edit(path, "created", "", "", ending)]
    return []


def _edit(path: str, how: str, old: str, new: str, ending: Ending) -> Deed:
    old, new = bounded(old), bounded(new)
    defined, removed = changed_names(old, new)
    return Deed(
        "edit",
        how,
        path,
        failed=ending.failed,
        outcome=ending.outcome,
        text=new,
        added=_added(old, new),
        defined=defined,
        removed=removed,
        before=bounded(old),
    )


def _added(old: str, new: str) -> str:
    """Return the lines of a new text that the old one does not have."""
    if not old:
        return new
    known = {line.strip() for line in old.split("\n")}
    return "\n".join(line for line in new.split("\n") if line.strip() not in known)
