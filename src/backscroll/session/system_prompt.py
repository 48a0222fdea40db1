"""Call the system prompt factory, and store each of its texts once."""

from backscroll import events
from backscroll.history.log import SystemPromptRecorded, digest_of
from backscroll.messages import accept_text
from backscroll.ports import Ask, Operation
from backscroll.session.state import SessionState


def ask_prompt(state: SessionState) -> Operation[str | None]:
    """Return the present system prompt; None without a factory, or if it returns none."""
    if state.prompt is None:
        return None
    text = yield Ask(state.prompt)
    text = accept_text(str(text), "system", state.config.redact) if text else text
    if text and text != state.included:
        state.included = text
        state.pending_notifications.append((events.INCLUDE, {"source": "system_prompt_factory", "content": str(text)}))
    return str(text) if text else None


def record_prompt(state: SessionState, prompt: str) -> Operation[str]:
    """Store the text of a system prompt, once. Returns its SHA-256."""
    digest = digest_of(prompt)
    if digest not in state.prompts:
        journal = state.journal
        known = None if journal is None else (yield from journal.prompt(digest))
        if known is None:
            state.apply_deferred(SystemPromptRecorded(digest, prompt))
        state.prompts.add(digest)
    return digest


def prompt_of(state: SessionState, digest: str | None) -> Operation[str | None]:
    """Return the system prompt with this SHA-256; None for None."""
    if digest is None:
        return None
    return (yield from state.reader.prompt(digest))
