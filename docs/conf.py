"""Settings of the site. `make site` builds it into build/site, whose `index.html` needs neither server nor network."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))  # for `site_pages`

project = "Backscroll"
author = "The Backscroll authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages"]
exclude_patterns: list[str] = []
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # an included page begins at the level of the heading that it has in its own file

html_theme = "furo"
html_title = "Backscroll"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # summaries are fetched, which browsers refuse to pages that are opened as files
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_class_signature = "mixed"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

nitpick_ignore_regex = [
    ("py:.*", r"(collections|typing|types|pathlib|asyncio|abc)\..*"),  # Python's own pages need a network to be read
    ("py:class", r"backscroll\.integrations\.clients\.\w+\.(T|Opened)"),  # variables of types have no page
    ("py:class", r"backscroll\.(history|messages|tokens)\..*"),  # what a strategy reads of a window is not public
    ("py:class", r"backscroll\.evaluation\..*"),  # what its functions pass to each other is not public
]
