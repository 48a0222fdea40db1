"""Where real recordings are, if they are at hand. No tests live here."""

import os
from pathlib import Path

import pytest

RECORDINGS = Path(os.environ.get("BACKSCROLL_TRANSCRIPTS") or Path(__file__).parents[2] / "shared" / "transcripts")
RECORDED = sorted(RECORDINGS.glob("*/norm.jsonl")) + sorted((RECORDINGS / "native").glob("*"))
needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason=f"no recordings at {RECORDINGS}; point BACKSCROLL_TRANSCRIPTS at a folder of them"
)
