"""What a caller leaves out of messages before anything is counted, stored or shown."""

import re
import traceback

import pytest

import backscroll
from backscroll import ConfigurationError, ConflictError, ContextManager, MessageError
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory

TALK = MessageFactory("openai")
CARD = re.compile(r"\d{4}-\d{4}")


def without_cards(message):
    message["content"] = CARD.sub("[card]", message["content"])
    return message


def refusing(message):
    if "drop table" in str(message):
        raise ValueError("no tables today")
    return message


def opened(redact, store="memory:", **options):
    return ContextManager(session="s", store=store, tokenizer=len, redact=redact, **options)


def test_what_is_left_out_is_nowhere(tmp_path):
    heard, counted = [], []

    def count(text):
        counted.append(text)
        return len(text)

    context = ContextManager(
        session="s", store=f"sqlite:///{tmp_path}/a.db", tokenizer=count, redact=without_cards,
        on_event=lambda *event: heard.append(event),
    )  # fmt: skip  # one thought
    context.set_system_prompt_factory(lambda: "The owner's card is 1111-2222.")
    context.append(TALK.say("user", "Pay with 1234-5678."))
    context.append(TALK.say("assistant", "1234-5678? Paid."), TALK.say("user", "And 9999-0000."))
    view = context.get_messages_for_request()
    assert [message["content"] for message in view] == [
        "The owner's card is [card].", "Pay with [card].", "[card]? Paid.", "And [card].",
    ]  # fmt: skip  # one thought
    assert context.recall(0) == "Pay with [card]."
    assert context.recall(query="1234") == ""
    context.set_messages([TALK.say("user", "Pay with 4321-8765."), TALK.say("assistant", "No.")])
    assert [message["content"] for message in context.get_messages()] == ["Pay with [card].", "No."]
    context.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"[card]" in held
    assert not re.search(rb"\d{4}-\d{4}", held)
    assert not CARD.search(str(heard) + str(counted))


def test_the_callers_message_stays_as_it_is():
    message = TALK.say("user", "Pay with 1234-5678.")
    opened(without_cards).append(message)
    assert message == TALK.say("user", "Pay with 1234-5678.")


def test_redact_error_refuses_the_whole_append():
    """An exception refuses the message and all that came with it."""
    context = opened(refusing)
    context.append(TALK.say("user", "hello"))
    for change in (
        lambda: context.append(TALK.say("assistant", "fine"), TALK.say("user", "drop table users")),
        lambda: context.set_messages([TALK.say("user", "hello"), TALK.say("assistant", "drop table users")]),
    ):
        with pytest.raises(MessageError, match=r"`redact` raised ValueError in refusing, line \d+;"):
            change()
    assert context.get_messages() == [TALK.say("user", "hello")]


SECRET = "1234-5678"


def quoting(message):
    raise ValueError(f"cannot read {message['content']}")


def test_error_of_redact_quotes_nothing_of_the_message():
    """What `redact` raised may hold the secret that it stumbled over: neither the error nor its cause shows it."""
    with pytest.raises(MessageError) as raised:
        opened(quoting).append(TALK.say("user", SECRET))
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    context = opened(quoting)
    context.set_system_prompt_factory(lambda: SECRET)
    with pytest.raises(MessageError) as raised:
        context.get_messages_for_request()
    assert SECRET not in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    "answer", [None, "text", {"content": "no role"}, {"role": "user", "content": float("nan")}, {"role": "user", 1: ""}]
)
def test_what_it_returns_is_checked_like_any_message(answer):
    context = opened(lambda message: answer)
    with pytest.raises(MessageError):
        context.append(TALK.say("user", "hello"))
    assert context.get_messages() == []


def test_redact_arguments_and_results_may_change_later():
    """What it was given and returned may be changed afterwards."""
    given = []
    context = opened(lambda message: given.append(message) or message)  # type: ignore[func-returns-value]  # noted, and then handed on
    context.append(TALK.say("user", "hello"))
    given[0]["content"] = "changed"
    assert context.get_messages() == [TALK.say("user", "hello")]


def test_setting_what_was_got_changes_nothing():
    context = opened(without_cards)
    context.append(TALK.say("user", "1234-5678"), TALK.say("assistant", "yes"))
    heard = context.explain()
    context.set_messages(context.get_messages())
    context.set_messages([TALK.say("user", "1234-5678"), TALK.say("assistant", "yes")])
    assert context.explain() == heard


async def awaited(message):
    return message


@pytest.mark.parametrize("redact", [awaited, "strip", 7])
def test_what_is_no_plain_function_is_refused_at_construction(redact):
    for manager in (ContextManager, backscroll.AsyncContextManager):
        with pytest.raises(ConfigurationError, match="`redact` must be a plain function"):
            manager(redact=redact)


def test_idempotency_id_with_redact_is_stored_as_a_digest(tmp_path):
    """Of an id, which may hold what a message must not, only a digest is in the files, which finds it again."""
    context = opened(without_cards, f"sqlite:///{tmp_path}/a.db")
    first = context.append(TALK.say("user", "Pay."), idempotency_key="1234-5678")
    assert context.append(TALK.say("user", "Pay."), idempotency_key="1234-5678") == first
    context.close()
    again = opened(without_cards, f"sqlite:///{tmp_path}/a.db")
    assert again.append(TALK.say("user", "Pay."), idempotency_key="1234-5678") == first
    with pytest.raises(ConflictError) as raised:
        again.append(TALK.say("user", "Pay more."), idempotency_key="1234-5678")
    assert "1234" not in str(raised.value)
    again.close()
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"1234-5678" not in held


def test_idempotency_id_from_before_redact_is_known():
    """An id that was stored as it is, without `redact`, is found with it, and the other way round."""
    store = MemoryStore()
    before, after = opened(None, store), opened(without_cards, store)
    assert (
        before.append(TALK.say("user", "a"), idempotency_key="1")
        == after.append(TALK.say("user", "a"), idempotency_key="1")
        == 0
    )
    assert (
        after.append(TALK.say("user", "b"), idempotency_key="2")
        == before.append(TALK.say("user", "b"), idempotency_key="2")
        == 1
    )
    assert opened(None, store).append(TALK.say("user", "b"), idempotency_key="2") == 1


class Leaking:
    """An object whose dump fails with what it holds."""

    def model_dump(self):
        raise ValueError("1234-5678")


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": {"1234-5678": float("nan")}},
        {"role": "user", "content": [{"1234-5678": {1, 2}}]},
        {"role": "user", "content": {("1234-5678",): "x"}},
        {"role": ["1234-5678"], "content": "x"},
        {"role": "user", "content": Leaking()},
        Leaking(),
        {"role": "user", "1234-5678": {"a": 10**5_000}},
    ],
)
def test_refusal_before_redact_quotes_types_only(message):
    """What `redact` did not see yet is not quoted: of keys and values only the types."""
    with pytest.raises(MessageError) as raised:
        opened(without_cards).append(message)
    assert "1234" not in str(raised.value)
    with pytest.raises(MessageError, match="message"):
        opened(None).append(message)


def test_refusal_with_redact_still_names_the_place():
    """The types of keys and the numbers of items say where."""
    with pytest.raises(MessageError, match=r"^message\[str\]\[1\]\[str\] is nan, which JSON cannot hold"):
        opened(without_cards).append({"role": "user", "content": ["a", {"b": float("nan")}]})
