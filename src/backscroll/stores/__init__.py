"""Places where a session can be kept, and the search over it. Each file is one technology; no deciding happens here."""
