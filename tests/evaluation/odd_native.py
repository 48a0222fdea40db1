"""Views of items, and views that begin with a provider's compaction, which each break one rule of the oracle."""

from tests.evaluation.messages import Message, said, user
from tests.evaluation.odd_views import Case

GO, ON = user("Go on with it."), user("And now the tests.")


def thought(name: str) -> Message:
    return {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": f"sealed {name}"}


def reply(words: str) -> Message:
    content = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "id": f"msg_{words}", "role": "assistant", "status": "completed", "content": content}


def made(*items: Message) -> Message:
    return {"role": "assistant", "content": list(items)}


STEP: Message = {"type": "thought", "signature": "s"}
COMPACTION: Message = {"type": "compaction", "encrypted_content": "sealed"}
TALK = [GO, said("x"), user("Then that."), said("y"), ON]
BY_PROVIDER: Message = {"role": "user", "content": [{"type": "compaction", "content": "Before.", "signature": "s"}]}
ANOTHER: Message = {"role": "assistant", "content": [{"type": "compaction", "content": "Again.", "signature": "t"}]}
QUOTES = user("<summary>[ref:0] user: Go on with it.</summary>")
BROKEN: dict[str, list[Case]] = {
    "reasoning-alone": [
        Case([GO, made(thought("1")), ON], [GO, thought("1"), ON], "reasoning without the item that followed it"),
        Case([GO, made(STEP), ON], [GO, made(STEP), ON], "a thought without the step that followed it"),
        Case([GO, made(thought("1"))], [GO, thought("1")], "reasoning without the item that followed it"),
    ],
    "demanded": [Case([GO, made(thought("1"), reply("one")), ON], [GO, reply("one"), ON], "without its reasoning")],
    "needed": [Case([GO, made(COMPACTION, reply("one")), ON], [GO, reply("one"), ON], "must hold is missing")],
    "compactions": [Case(TALK, [BY_PROVIDER, QUOTES, ANOTHER, ON], "a second compaction")],
    "quoted": [Case(TALK, [BY_PROVIDER, said("y"), ON], "is neither in the view nor quoted in it")],
}
"""By rule: views that break only this rule."""
