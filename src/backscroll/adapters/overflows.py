"""Sizes in the errors by which providers refuse a request as too long. Reads texts; nothing else may live here."""

import re

_SIZES = (
    re.compile(r"(?P<requested>\d[\d,]*) tokens? > (?P<limit>\d[\d,]*)"),
    re.compile(
        r"maximum context length is (?P<limit>\d[\d,]*) tokens.{0,80}?(?:requested|resulted in) (?P<requested>\d[\d,]*)"
    ),
    re.compile(r"token count \((?P<requested>\d[\d,]*)\) exceeds.{0,60}?\((?P<limit>\d[\d,]*)\)"),
)


def sizes_in(text: str) -> tuple[int | None, int | None]:
    """Tokens that were requested and tokens that were allowed, where an error says so. Sources: what the interfaces of
    Anthropic, OpenAI and Gemini answer.
    """
    for form in _SIZES:
        if found := form.search(text):
            requested, limit = (int(found[name].replace(",", "")) for name in ("requested", "limit"))
            if requested > limit > 0:
                return requested, limit
    return None, None
