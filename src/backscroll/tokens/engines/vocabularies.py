"""The counting engines by name, each imported only when it is asked for.

A finder returns an `Engine` or raises; `Guarded` handles the failure. No finder may use the network or load a
vocabulary, which the first count does.
"""

import hashlib
import importlib
import os
from pathlib import Path
from typing import Any

from backscroll.tokens.engines.safe_tokenizer import Engine

_ALL = 1 << 60  # a limit that no text reaches

_VOCABULARIES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the vocabulary files that tiktoken uses, from its own sources."""

_VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
"""Never opened: tiktoken names its cache files by the SHA-1 of this address."""

ENCODINGS = tuple(_VOCABULARIES)

_GOLDENS: dict[str, tuple[int, int]] = {
    "\t\t\tindent\n\t\n\t\t end\t": (7, 7),
    "上下文窗口满了，需要压缩。これはテストです。한국어 문장": (18, 28),  # noqa: RUF001 - the comma of Chinese texts
    "👩‍👩‍👧‍👦 ok 🇩🇪 🧠🧠🤷🏽‍♂️": (29, 42),
    "<|endoftext|> text <|im_start|>system<|im_end|> <|fim_prefix|>": (27, 26),
    "abcdefghij" * 500: (1000, 1000),
    'def f(x: int) -> str:\n    """It\'s 3.14159."""\n'
    "    return f\"{x:>08}\" if x != 1_000_000 else 'DON\\'T'\r\n\r\n": (42, 42),
    " " * 300 + "x" + "\n" * 40 + "  \n \t y": (10, 9),
    "Größe Ελληνικά Кириллица עברית العربية हिन्दी ไทย": (12, 38),
}
"""Texts of kinds that engines get wrong, with their o200k_base and cl100k_base tokens; two engines agreed on each."""


def goldens(encoding: str) -> dict[str, int]:
    """Return the golden counts of `encoding`, one of `ENCODINGS`."""
    column = ENCODINGS.index(encoding)
    return {text: tokens[column] for text, tokens in _GOLDENS.items()}


def find_toktok(encoding: str) -> Engine:
    """Find toktok-rs, whose extension module includes the vocabularies. Raises ImportError if it is not installed."""
    toktok: Any = importlib.import_module("toktok")
    truncate = toktok.truncate

    def count(text: str) -> int:
        # Returns (text, tokens) and builds no list of ids; the plain batch call costs ten times as much for a message.
        tokens: int = truncate(text, _ALL, encoding)[1]
        return tokens

    return Engine(f"{encoding}/toktok-{toktok.__version__}", count, goldens(encoding))


def find_tiktoken(encoding: str) -> Engine:
    """Find tiktoken if its cache folder has the vocabulary; else raise LookupError, because it would download one."""
    path = vocabulary_path(encoding)
    if path is None or not path.is_file():
        raise LookupError(
            f"tiktoken has no vocabulary for {encoding} in its cache and would download it; "
            f"fill the folder named by TIKTOKEN_CACHE_DIR by calling tiktoken.get_encoding({encoding!r}) once"
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != _VOCABULARIES[encoding]:
        raise LookupError(f"tiktoken's vocabulary file {path.name} is damaged; remove it and fill the cache again")
    tiktoken: Any = importlib.import_module("tiktoken")

    def count(text: str) -> int:
        # tiktoken keeps the encoding that it has loaded. The text of special tokens is taken as ordinary text.
        return len(tiktoken.get_encoding(encoding).encode_ordinary(text))

    return Engine(f"{encoding}/tiktoken-{tiktoken.__version__}", count, goldens(encoding))


def vocabulary_path(encoding: str) -> Path | None:
    """Return where tiktoken keeps the vocabulary of `encoding`, by its own rules; None if its cache is disabled."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        import tempfile  # noqa: PLC0415 - slow to import, and only needed here

        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if not folder:
        return None
    address = _VOCABULARY_URL.format(encoding).encode()
    return Path(folder) / hashlib.sha1(address, usedforsecurity=False).hexdigest()
