"""Fits the weights of the token estimator, prints them and their errors. Only the fit may live here; it writes no file.

    python benchmarks/fit_estimator.py TRANSCRIPTS [--catalogues FOLDER] [--tilt 2]

TRANSCRIPTS is a folder of .json, .jsonl or .traj files with agent conversations; FOLDER, if given, is searched for
gettext catalogues (.mo), which add texts in many languages. Sources of the standard library and generated data
(hex, base64, digits, tables, emoji, random Unicode) are added. Needs scipy, numpy and toktok-rs.

The fit is least squares of relative errors, with weights between zero and a token a byte. Every kind of text has a
share of the total, so that a kind with many samples does not decide alone; rows that come out too low are weighted by
`--tilt` and fitted again. Three tenths of the samples are held out, and every printed error is theirs.
"""

import argparse
import base64
import gettext
import json
import random
import sysconfig
import textwrap
import unicodedata
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import toktok
from scipy.optimize import lsq_linear

from backscroll.tokens.engines.heuristic import letters, shapes

SHAPE_PATTERNS, LETTER_PATTERNS, SCRIPT_PATTERNS = (
    patterns.split()
    for patterns in (
        "u d ddd ld ud sd rd nd pd dl du lu ul uu sl su Sl tl nl pl rl pu s ss S n nn ns nS t tt tttt p pp sp "
        "r rr sr pr rp R RRRR k llllll",
        "_v _c _q dv dc dq v c q ccc vv cq qc qq ccccc vvv qcq",
        "1 2 3 4 5 6 70 7a 7b 7e 7i 7f 7g 7h 80 8a 8b 8e 8i 8f 8g 8h 90 9a 9b 9e 9i 9f 9g 9h A B C "
        "D0 Da Db De Di Df Dg Dh E s3 s4 s5 s6 s7 s8 sA sB sC l1 1h hl",
    )
)
"""Candidates, in the classes of the estimator; the fit leaves some of them without weight."""
SHARES = {
    "agent": 4.0,
    "python": 1.5,
    "json": 1.5,
    "table": 1.5,
    "minified": 1.5,
    "random unicode": 0.3,
    "language": 0.25,
}
"""Weight of one kind of text in the fit: what agents read most counts most, and no language decides alone."""
LARGEST_SAMPLE = 6_000
PER_KIND = 400

Corpus = dict[str, list[str]]


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def pieces(text: str, rng: random.Random) -> Iterator[str]:
    """`text` cut into pieces of mixed sizes."""
    start = 0
    while start < len(text):
        size = rng.choice((60, 200, 600, 2_000, 5_000))
        yield text[start : start + size]
        start += size


def transcripts(folder: Path, rng: random.Random) -> Corpus:
    """Texts of the conversations, one kind a file."""
    corpus: Corpus = {}
    for path in sorted(p for p in folder.rglob("*") if p.suffix in {".json", ".jsonl", ".traj"}):
        body = path.read_text(encoding="utf-8", errors="replace")
        documents = body.splitlines() if path.suffix == ".jsonl" else [body]
        texts = (text for document in documents for text in strings(json.loads(document)))
        found = {text[:LARGEST_SAMPLE] for text in texts if len(text) >= 40 and " " in text}
        if len(found) >= 20:
            corpus[f"agent: {path.relative_to(folder)}"] = rng.sample(sorted(found), min(PER_KIND, len(found)))
    return corpus


def sources(rng: random.Random) -> Corpus:
    """Modules of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in sorted(folder.glob("*.py"))[:150]]
    return {"python": [piece for text in texts for piece in pieces(text, rng)]}


def catalogues(folder: Path, rng: random.Random) -> Corpus:
    """Translated messages, one kind a language (and country, for Chinese)."""
    messages: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*.mo")):
        place = path.parent.parent.name
        language = place if place.startswith("zh") else place.split("@")[0].split("_")[0]
        if path.stat().st_size < 8_000 or "shaw" in place:
            continue
        try:
            with path.open("rb") as file:
                entries = vars(gettext.GNUTranslations(file))["_catalog"].items()
        except (OSError, LookupError, ValueError):
            continue  # a malformed catalogue, or one in an unknown encoding, is no loss
        messages[language] += [v for k, v in entries if k and isinstance(v, str) and v != k and len(v) > 20]
    corpus = {}
    for language, found in sorted(messages.items()):
        text = "\n".join(rng.sample(found, min(len(found), 1_500)))
        if len(text) >= 3_000:
            corpus[f"language: {language}"] = list(pieces(text, rng))[:120]
    return corpus


def alphabet(*ranges: tuple[int, int]) -> str:
    """Every assigned character of the ranges."""
    characters = (chr(code) for first, last in ranges for code in range(first, last))
    return "".join(c for c in characters if unicodedata.category(c) not in ("Cn", "Cs"))


def encoded_kinds(rng: random.Random) -> dict[str, Callable[[int], str]]:
    """Data as programs print it: from an approximate length to a text."""

    def cell() -> str:
        day = f"2024-05-{rng.randrange(1, 29):02}"
        return rng.choice([str(rng.randrange(10_000)), f"{rng.random() * 100:.3f}", "abc", day])

    def some_uuid() -> str:
        return str(uuid.UUID(int=rng.getrandbits(128)))

    def record() -> dict[str, Any]:
        numbers = [rng.randrange(1_000) for _ in range(rng.randrange(20))]
        return {"id": some_uuid(), "score": rng.random(), "text": " ".join(cell() for _ in range(5)), "items": numbers}

    return {
        "hex": lambda n: rng.randbytes(n // 2).hex(),
        "base64": lambda n: base64.b64encode(rng.randbytes(n)).decode(),
        "base32": lambda n: base64.b32encode(rng.randbytes(n)).decode(),
        "uuid": lambda n: "\n".join(some_uuid() for _ in range(n // 36 + 1)),
        "table": lambda n: "\n".join(",".join(cell() for _ in range(6)) for _ in range(n // 30 + 1)),
        "json": lambda n: json.dumps([record() for _ in range(n // 150 + 1)], indent=rng.choice((None, 2))),
    }


def drawn_kinds(rng: random.Random) -> dict[str, Callable[[int], str]]:
    """Texts strung together from an alphabet or from fragments."""

    def of(parts: str | list[str], length: float = 1) -> Callable[[int], str]:
        return lambda n: "".join(rng.choices(parts, k=max(int(n / length), 4)))

    code = ["var ", "function(", "e,t,n){", "return ", "a.b=", "!0", "if(", "&&", ")", "this.x", "r[", "0]", "=>", ";"]
    terminal = ["\x1b[31m", "\x1b[0m", "\x1b[1;32m", "ok ", "FAILED ", "test_7 ", "\n", "\x08", "\x00"]
    signs = "│├└─┌┐┼━█░●✓✗→←•…“”’—"  # noqa: RUF001 - typographic on purpose
    boxes = [sign * width for sign in signs for width in (1, 1, 2, 20)] + [" ", " x ", " name ", "\n"]
    rulers = [sign * width for sign in "-=*#_.~ " for width in (4, 12, 40, 79)] + ["\n"] * 12
    indents = ["\n" + " " * width + word for width in range(1, 60, 3) for word in ("x", "foo", "}", "|", "12")]
    return {
        "digits": of("0123456789"),
        "random lower": of("abcdefghijklmnopqrstuvwxyz"),
        "random ascii": of(alphabet((33, 127))),
        "symbols": of("!@#$%^&*()[]{}<>;:,./?|~`-=_+"),
        "minified": of(code, 4),
        "terminal": of(terminal, 4),
        "boxes": of(boxes, 4),
        "rulers": of(rulers, 20),
        "indents": of(indents, 25),
        "emoji": of(alphabet((0x1F300, 0x1F650), (0x1F900, 0x1FA00)), 4),
        "random unicode: low": of(alphabet((0xA0, 0x3000)), 3),
        "random unicode: high": of(alphabet((0x3000, 0xD7FF), (0xE000, 0x30000)), 3),
    }


def generated(rng: random.Random) -> Corpus:
    """120 texts of every generated kind, in three sizes."""
    kinds = encoded_kinds(rng) | drawn_kinds(rng)
    return {kind: [make(size) for size in (60, 300, 1_500) for _ in range(40)] for kind, make in kinds.items()}


def features(text: str) -> list[int]:
    """How often each candidate pattern occurs, in the order of the three tables."""
    data = text.encode("utf-8", "surrogatepass")
    shape, letter = shapes(data), letters(data)
    row = [shape.count(p.encode()) for p in SHAPE_PATTERNS] + [letter.count(p.encode()) for p in LETTER_PATTERNS]
    return row + [shape.count(p.encode()) for p in SCRIPT_PATTERNS]


def upper_bounds() -> np.ndarray:
    """The most a pattern may weigh: a character costs at most a token a byte, else rare patterns explain anything."""
    first_bytes = dict.fromkeys("123456", 2.0) | dict.fromkeys("789ABCD", 3.0) | {"E": 4.0}
    bounds = [2.0] * (len(SHAPE_PATTERNS) + len(LETTER_PATTERNS))
    return np.array(bounds + [first_bytes.get(pattern[0], 1.0) for pattern in SCRIPT_PATTERNS])


def fit(rows: np.ndarray, tokens: np.ndarray, share: np.ndarray, tilt: float) -> np.ndarray:
    """Bounded non-negative weights; rows predicted too low count `tilt` times, until that settles."""
    weight, upper = share, upper_bounds()
    solution = np.zeros(rows.shape[1])
    for _ in range(30):
        scale = np.sqrt(weight / weight.mean()) / tokens
        orthogonal, triangle = np.linalg.qr(rows * scale[:, None])  # the same problem with as many rows as weights
        solution = lsq_linear(triangle, orthogonal.T @ (tokens * scale), bounds=(0, upper), method="bvls").x
        weight = share * np.where(rows @ solution < tokens, tilt, 1.0)
    return solution


def print_errors(kinds: np.ndarray, guess: np.ndarray, tokens: np.ndarray) -> None:
    """One line a kind: mean error, bias, the 5th percentile and the worst under-count of a single sample."""
    error = np.ceil(guess) / tokens - 1
    print(f"{'kind':44}{'samples':>8}{'mean':>8}{'bias':>8}{'p5':>8}{'worst':>8}")
    groups = [(kind, kinds == kind) for kind in dict.fromkeys(kinds)]
    groups += [(f"ALL {kind}", np.char.startswith(kinds, kind)) for kind in ("agent", "language")]
    for kind, chosen in groups:
        if chosen.any():
            e, bias = error[chosen], guess[chosen].sum() / tokens[chosen].sum() - 1
            figures = f"{abs(e).mean():8.1%}{bias:+8.1%}{np.quantile(e, 0.05):+8.1%}{min(e.min(), 0):+8.1%}"
            print(f"{kind[:43]:44}{len(e):8}{figures}")


def print_weights(solution: np.ndarray) -> None:
    """The three tables as they stand in the estimator; patterns without weight are left out."""
    weights = iter(solution)
    for name, patterns in (("SHAPE", SHAPE_PATTERNS), ("LETTER", LETTER_PATTERNS), ("SCRIPT", SCRIPT_PATTERNS)):
        kept = [f'(b"{p}", {w:.3f})' for p, w in ((p, next(weights)) for p in patterns) if w >= 0.005]
        # Line breaks only between pairs: hide the blank inside a pair from the wrapping.
        body = textwrap.fill(" ".join(pair.replace(" ", "\0") + "," for pair in kept), 112).replace("\0", " ")
        print(f"{name}_WEIGHTS = (\n{textwrap.indent(body, '    ')}\n)")


def main() -> None:
    """Build the corpus, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("transcripts", type=Path, help="folder of agent conversations")
    parser.add_argument("--catalogues", type=Path, help="folder that holds gettext catalogues")
    parser.add_argument("--tilt", type=float, default=2.0, help="weight of an under-count against an over-count")
    options = parser.parse_args()
    rng = random.Random(7)
    corpus = transcripts(options.transcripts, rng) | sources(rng) | generated(rng)
    if options.catalogues:
        corpus |= catalogues(options.catalogues, rng)
    samples = [(kind, text) for kind, texts in corpus.items() for text in texts[:PER_KIND] if text]
    kinds = np.array([kind for kind, _ in samples])
    rows = np.array([features(text) for _, text in samples], dtype=float)
    tokens = np.array([toktok.truncate(text, 1 << 60, "o200k_base")[1] for _, text in samples], dtype=float)
    share = np.array([SHARES.get(kind.split(":")[0], 0.8) / (kinds == kind).sum() for kind in kinds])
    held_out = np.random.default_rng(1).random(len(tokens)) < 0.3
    solution = fit(rows[~held_out], tokens[~held_out], share[~held_out], options.tilt)
    print_weights(solution)
    print_errors(kinds[held_out], (rows @ solution)[held_out], tokens[held_out])


if __name__ == "__main__":
    main()
