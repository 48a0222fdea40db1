"""Texts of all shapes that prose has."""

from hypothesis import strategies as st

_WORDS = """the cache is empty because key fails. Done! Why?
src/a.py:12 https://example.com 3.5 e.g. Dr. Who never **must**
缓存是空的。 __name__ * - 1. (2) a) # ## | :-- ``` ~~~ --- == : … 0123abc4"""
WORDS = st.sampled_from([*_WORDS.split(), "\t", "\u2028", "为什么\uff1f", ""])
LINES = st.builds(
    lambda indent, mark, words: " " * indent + mark + " ".join(words),
    st.integers(0, 5),
    st.sampled_from(["", "- ", "1. ", "* ", "## ", "# 2. ", "**", "| ", "> ", "```", "a:"]),
    st.lists(WORDS, max_size=30),
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join) | st.text(max_size=400)
