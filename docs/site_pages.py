"""What the site adds to Sphinx: pages of the repository's root as its own, and pictures in its colors.

- A block `{include} ../../PAGE.md` is replaced by that page, or by a part of it, with links that suit its new place.
- Links to files that are no pages of the site, such as sources, become plain text.
- An SVG becomes a part of the page, so that its colors follow the reader's choice of light or dark.
- Docstrings are Markdown: one backtick marks code, and becomes a link where it is a public name.
"""

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

import backscroll

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
INCLUDE = re.compile(r"^```\{include\} (\S+)\n((?::.*\n)*)```$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:)([^)#\s]*)(#[\w-]+)?\)")
PICTURE = re.compile(r"(!\[[^\]]*\]\()(?!\w+:)([^)\s]+)\)")
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "design/architecture.md",
    "ARCHITECTURE.md#the-promises": "design/promises.md",
    "CONTRIBUTING.md": "design/contributing.md",
    "CONTRIBUTING.md#glossary": "design/glossary.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "evaluate/benchmarks.md",
}
"""Where pages of the repository are on the site; an anchor that became a page of its own comes with its page."""


def relinked(text: str, home: str, page: str) -> str:
    """A text of the file `home`, as a part of the site's page `page`; both are paths, the second below `docs`."""

    def link(match: re.Match[str]) -> str:
        label, path, anchor = match[1], match[2], match[3] or ""
        target = os.path.normpath(os.path.join(os.path.dirname(home), path)) if path else home
        whole = PAGES.get(target + anchor)
        place = whole or PAGES.get(target) or (target[len("docs/") :] if re.match(r"docs/.*\.md$", target) else None)
        if place is None:
            return label
        anchor = "" if whole else anchor
        if place == page and anchor:
            return f"[{label}]({anchor})"
        return f"[{label}]({os.path.relpath(place, os.path.dirname(page) or '.')}{anchor})"

    def picture(match: re.Match[str]) -> str:
        target = ROOT / os.path.dirname(home) / match[2]
        return f"{match[1]}{os.path.relpath(target, (DOCS / page).parent)})"

    pieces = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)  # code stays as it is
    pieces[::2] = [PICTURE.sub(picture, LINK.sub(link, piece)) for piece in pieces[::2]]
    return "".join(pieces)


CODE = re.compile(r"(?<!`)(\w?)`([^`]+)`(?!`)(\w?)")
METHODS = {
    name for name in vars(backscroll.ContextManager) | vars(backscroll.ContextManager.__base__) if name[0] != "_"
}


def docstring(_: Sphinx, __: str, name: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """Turns code between backticks into what reStructuredText takes for it."""
    of_manager = name.startswith("backscroll.ContextManager")

    def code(match: re.Match[str]) -> str:
        before, text, after = match[1], " ".join(match[2].split()), match[3]
        if text in backscroll.__all__:
            marked = f":py:obj:`{text} <backscroll.{text}>`"
        elif of_manager and text in METHODS and name.rpartition(".")[2] != text:
            marked = f":py:obj:`{text} <backscroll.ContextManager.{text}>`"
        else:
            marked = f"``{text}``"
        return (before and f"{before}\\ ") + marked + (after and f"\\ {after}")

    lines[:] = CODE.sub(code, "\n".join(lines)).split("\n")


ATTRIBUTES: dict[str, list[str]] = {}
"""Docstrings of attributes, of which Napoleon takes what comes before a colon for a type."""


def kept(_: Sphinx, kind: str, name: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """Keeps a docstring from Napoleon."""
    if kind in ("attribute", "property"):
        ATTRIBUTES[name] = list(lines)


def restored(_: Sphinx, kind: str, name: str, ___: Any, ____: Any, lines: list[str]) -> None:
    """Puts it back."""
    if kind in ("attribute", "property"):
        lines[:] = ATTRIBUTES.pop(name)


DEFAULTS = {
    "_DEFAULT_BUDGET": "BudgetOptions()",
    "_IN_THE_STORE": "StorageOptions()",
    "STANDARD.name": "'standard'",
    "AUTO": "'auto'",
}
"""How a signature writes what has a name in the source."""


MADE_INSIDE = ("Window", "CandidateGroup", "CandidatePart")
"""Classes that no caller makes: their signatures say nothing. Nor do those of protocols."""


def signature(
    _: Sphinx, kind: str, name: str, __: Any, ___: Any, arguments: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Writes defaults as a caller does, and leaves out what only refuses wrong calls."""
    if kind == "class" and (name.rpartition(".")[2] in MADE_INSIDE or arguments == "(*args, **kwargs)"):
        return "", None
    for source, default in DEFAULTS.items():
        arguments = arguments and arguments.replace(source, default)
    arguments = arguments and re.sub(r"\*misplaced: [~\w.]*Never", "*", arguments)
    return arguments and re.sub(r", \*\*unknown: [~\w.]*Never", "", arguments), returned


def read(app: Sphinx, docname: str, source: list[str]) -> None:
    """Puts included pages into a page, and corrects the links of both."""
    page = f"{docname}.md"

    def include(match: re.Match[str]) -> str:
        path = (DOCS / page).parent.joinpath(match[1]).resolve()
        app.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        options = dict(re.findall(r"^:([\w-]+): (.+)$", match[2], re.MULTILINE))
        if "after" in options:
            text = text.partition(f"\n{options['after']}\n")[2]
        if "before" in options:
            text = text.partition(f"\n{options['before']}\n")[0]
        return relinked(text, path.relative_to(ROOT).as_posix(), page)

    text = relinked(source[0], f"docs/{page}", page)
    source[0] = INCLUDE.sub(include, text)


class InlinePictures(SphinxPostTransform):
    """Puts each SVG into its page."""

    default_priority = 5
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Replaces the nodes of images."""
        for image in list(self.document.findall(nodes.image)):
            path = DOCS / image["uri"]
            if path.suffix == ".svg":
                figure = f'<div class="picture" role="img" aria-label="{image.get("alt", "")}">{svg(path)}</div>'
                image.replace_self(nodes.raw("", figure, format="html"))


def svg(path: Path) -> str:
    """A picture as a part of a page of HTML."""
    return re.sub(r"^<\?xml.*?\?>\s*", "", path.read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers them. Napoleon has priority 500."""
    app.connect("source-read", read)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-process-docstring", docstring, priority=1)
    app.connect("autodoc-process-docstring", kept, priority=2)
    app.connect("autodoc-process-docstring", restored, priority=900)
    app.add_post_transform(InlinePictures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
