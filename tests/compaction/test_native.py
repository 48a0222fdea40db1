"""Native compaction: the provider's block in place of the beginning of a view."""

import asyncio

import pytest

from backscroll import (
    AsyncContextManager,
    BackscrollWarning,
    ConfigurationError,
    NativeCompaction,
    Protection,
    events,
)
from backscroll.compaction.strategies.native import NativeStrategy
from backscroll.evaluation.fake_providers import FakeOpenAIResponses, Reply, Text
from backscroll.evaluation.validity import problems
from tests.compaction.native_talk import RULE, NativeTalk, blocks, notes, thoughts
from tests.native_agent import LateManager

VENDORS = ("anthropic", "openai")


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_block_takes_the_place_of_the_beginning(vendor):
    talk = NativeTalk(vendor)
    before = talk.work(events.NATIVE_STARTED)
    view = talk.work(events.COMPACTION)
    assert talk.payloads(events.COMPACTION)[0]["strategies"] == {"native": 1}
    assert events.REASONING_REMOVED not in talk.names
    assert [at for at, _ in blocks(view)] == [1 if vendor == "anthropic" else 2]
    assert view[0]["content"] == "Be brief."
    request = talk.asked[0]
    assert request.messages == before[: len(request.messages)]
    assert request.model == talk.model
    assert thoughts(view) > 0
    assert problems(view, talk.manager.get_messages()[:-2]) == []  # without the answer and its result


@pytest.mark.parametrize("vendor", VENDORS)
def test_kept_turns_are_as_they_were_sent(vendor):
    talk = NativeTalk(vendor, looks=2)
    views = [talk.work(events.NATIVE_STARTED)]
    talk.events.clear()
    while events.COMPACTION not in talk.names:
        views.append(talk.send())
    number = len(talk.asked[0].messages)
    (at, _), kept = blocks(views[-1])[-1], views[-2][number:]
    assert len(kept) >= 4
    assert views[-1][at + 1 :][: len(kept)] == kept


@pytest.mark.parametrize("vendor", VENDORS)
def test_one_block_takes_the_place_of_the_other(vendor):
    talk = NativeTalk(vendor)
    first = blocks(talk.work(events.COMPACTION))
    second = blocks(talk.work(events.COMPACTION))
    assert len(first) == len(second) == 1
    assert first != second


def test_openai_keeps_no_notes_of_ours():
    """Its endpoint returns all messages in the user's role; ours would add up."""
    talk = NativeTalk("openai")
    for _ in range(3):
        view = talk.work(events.COMPACTION)
    assert str(view).count("The compaction at the beginning represents") == 1
    assert view[1]["content"] == f"Go through the notes. {RULE}"


class Talkative(NativeTalk):
    """A model that says something next to its calls, and a provider that keeps it when it compacts."""

    def __init__(self):
        super().__init__("openai", budget=12_000)
        self.provider = FakeOpenAIResponses(
            model=self.model, replies=self.reply_to, on_mismatch="error", keeps_replies=True
        )

    def reply_to(self, request):
        answer = super().reply_to(request)
        thinking, *calls = answer.parts
        return Reply((thinking, Text(f"I read note {self.number}."), *calls))


def test_replies_in_a_compaction_demand_no_reasoning():
    """Their `id` would: OpenAI refuses a stored message whose reasoning is gone."""
    talk = Talkative()
    view = talk.work(events.COMPACTION)
    kept = view[: blocks(view)[0][0]]
    assert {"type": "message", "role": "assistant", "content": "I read note 2."} in kept
    assert thoughts(view) > 0
    talk.work(events.COMPACTION)


@pytest.mark.parametrize("vendor", VENDORS)
def test_rules_stay_word_for_word_behind_the_kept_turns(vendor):
    talk = NativeTalk(vendor)
    talk.work(events.COMPACTION)
    said = {"role": "user", "content": "Always write tests first."}
    talk.manager.append(said)
    view = [said]
    while said in view:
        view = talk.work(events.COMPACTION)
        assert "Always write tests first." in str(view)
    assert RULE in notes(view)
    assert "Always write tests first." in notes(view)
    later = talk.send()
    assert later[: len(view)] == view, "the notes stay where they are"


def test_recall_reaches_what_a_block_stands_for():
    talk = NativeTalk()
    view = talk.work(events.COMPACTION)
    states = {status.seq: status for status in talk.manager.explain()}
    last = max(seq for seq, status in states.items() if status.state == "compacted")
    assert f"[ref:1-{last}]" in notes(view)
    assert states[1].reason == "native, by claude-opus-5-5"
    assert "Note 2" in talk.manager.recall(5)
    assert any(hit.seq <= last for hit in talk.manager.recall(query="Note 1 all is well").hits)


def test_reports_name_the_block():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    snapshot = talk.manager.get_request(talk.manager.list_requests()[-1].at)
    kinds = [(line.kind, line.state) for line in snapshot.lines]
    assert kinds.count(("native", "whole")) == 1
    assert ("left out", "compacted") in kinds
    assert snapshot.messages[1]["content"][0]["type"] == "compaction"
    report = talk.manager.window_report()
    assert report.parts["digest"] > 50
    assert report.usage.summarizer.summaries == len(talk.asked)


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_block_that_is_ready_survives_a_restart(vendor, tmp_path):
    talk = NativeTalk(vendor, store=tmp_path / "a.db", session="s")
    talk.work(events.NATIVE_READY)
    asked = len(talk.asked)
    talk.manager.close()
    talk.open()
    view = talk.work(events.COMPACTION)
    assert len(blocks(view)) == 1
    assert events.NATIVE_STARTED not in talk.names[: talk.names.index(events.COMPACTION)]
    assert len(talk.asked) >= asked
    talk.manager.close()
    talk.open()
    again = talk.send()
    assert again[: len(view)] == view, "and so does the plan"
    talk.manager.close()


def test_undo_shows_everything_without_reasoning_again():
    talk = NativeTalk(budget=12_000)
    view = talk.work(events.COMPACTION)
    assert talk.manager.undo_compaction()
    back = talk.manager.get_messages_for_request(40_000)
    assert blocks(view)
    assert not blocks(back)
    assert thoughts(back) == 0 or thoughts(back) < thoughts(view)
    talk.send(budget=40_000)
    assert back[1]["content"].endswith(RULE)


def test_a_rewind_into_the_block_takes_it_out():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    talk.manager.rewind(3)
    view = talk.send()
    assert not blocks(view)
    assert thoughts(view) == 0
    assert len(view) == 4


def test_a_rewind_behind_the_block_keeps_it():
    talk = NativeTalk()
    view = talk.work(events.COMPACTION)
    last = max(status.seq for status in talk.manager.explain() if status.state == "compacted")
    talk.manager.rewind(last + 2)
    back = talk.send()
    assert blocks(back) == blocks(view)
    assert back[2]["content"] == notes(view), "their place is gone, so they follow the block"
    assert thoughts(back) == 0


def test_a_pinned_message_comes_back_behind_the_block():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    talk.manager.pin(5)
    view = talk.send()
    assert len(blocks(view)) == 1
    assert talk.manager.get_messages()[5] in view
    assert thoughts(view) == 0


def test_what_notes_quote_does_not_come_back_with_a_pin():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    newest = max(status.seq for status in talk.manager.explain())
    talk.manager.pin(newest)
    view = talk.send()
    assert RULE in notes(view)
    assert not any(message["content"] == f"Go through the notes. {RULE}" for message in view)
    assert thoughts(view) > 0


def test_a_changed_system_prompt_costs_the_block():
    """The reasoning leaves the view, so it no longer begins as it was sent; the next block is made with the new one."""
    talk = NativeTalk()
    talk.work(events.NATIVE_READY)
    talk.manager.set_system_prompt_factory(lambda: "Be verbose.")
    assert thoughts(talk.send()) == 0
    asked = len(talk.asked)
    view = talk.work(events.COMPACTION)
    while not blocks(view):
        view = talk.work(events.COMPACTION)
    assert len(talk.asked) > asked
    assert talk.asked[-1].messages[0]["content"] == "Be verbose."
    assert thoughts(view) > 0


@pytest.mark.parametrize("change", ["unsigned", "model"])
def test_a_block_that_keeps_nothing_costs_the_reasoning(change):
    def unsigned(response):
        block = {key: value for key, value in response["content"][0].items() if key != "signature"}
        return {**response, "content": [block]}

    made = {"answer": unsigned} if change == "unsigned" else {"native_model": "claude-opus-5"}
    talk = NativeTalk(**made)
    view = talk.work(events.COMPACTION)
    assert len(blocks(view)) == 1
    assert thoughts(view) == 0
    assert talk.payloads(events.NATIVE_READY)[0]["keeps_reasoning"] is False


def fail(_):
    raise OSError("down")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fail, "OSError: down"),
        (lambda _: None, "must return a compaction block"),
        (lambda _: {"content": [], "stop_reason": "max_tokens"}, "0 compactions, not one, stop_reason 'max_tokens'"),
        (lambda made: {**made, "content": made["content"] * 2}, "2 compactions, not one"),
        (lambda _: [{"type": "compaction", "content": None}], "its compaction is empty"),
        (lambda made: [*made["content"], {"type": "text", "text": "Hi."}], "more than the compaction block"),
        (lambda _: [{"type": "compaction", "content": ["x"], "signature": "s"}], "is no text"),
        (lambda _: [{"type": "compaction", "content": "x", "signature": {1, 2}}], "JSON"),
        (
            lambda _: [
                {"type": "compaction", "encrypted_content": "x"},
                {"type": "reasoning", "id": "r", "summary": []},
            ],
            "an item of type 'reasoning'",
        ),
    ],
)
def test_without_a_block_our_digest_serves(answer, reason):
    talk = NativeTalk(answer=answer)
    with pytest.warns(BackscrollWarning, match="no native compaction could be had for lane 'main'"):
        view = talk.work(events.COMPACTION)
    assert reason in talk.payloads(events.NATIVE_FAILED)[0]["reason"]
    assert not blocks(view)
    assert any("Earlier messages are compacted here" in str(message["content"]) for message in view)


def test_a_function_that_fails_is_called_ever_less():
    talk = NativeTalk(answer=fail)
    with pytest.warns(BackscrollWarning, match="no native compaction"):
        talk.work("never", 120)
    assert talk.names.count(events.COMPACTION) > 5
    assert len(talk.asked) < talk.names.count(events.COMPACTION)


def test_a_block_that_is_too_large_is_not_used():
    def padded(made):
        return {**made, "content": [{"type": "compaction", "content": "x" * 14_000}]}

    talk = NativeTalk(answer=padded)
    view = talk.work(events.COMPACTION)
    assert events.NATIVE_READY in talk.names
    assert not blocks(view)


def test_a_smaller_budget_takes_a_large_block_out():
    talk = NativeTalk(answer=lambda _: [{"type": "compaction", "content": "x" * 3_200}])
    assert blocks(talk.work(events.COMPACTION))
    view = talk.manager.get_messages_for_request(1_500)
    assert not blocks(view)
    assert any(str(message["content"]).startswith("Go through the notes.") for message in view)


def test_a_block_of_messages_that_changed_is_not_used():
    talk = NativeTalk(looks=3)
    talk.work(events.NATIVE_STARTED)
    talk.manager.trim(keep_last=4)
    with pytest.warns(BackscrollWarning, match="were rewound or edited meanwhile"):
        talk.work(events.NATIVE_FAILED)
    assert not blocks(talk.send())


def test_a_late_result_of_a_compacted_call_comes_back():
    talk = NativeTalk()
    response = talk.provider.create(**talk.request(talk.manager.get_messages_for_request()))
    talk.manager.append({"role": "assistant", "content": response["content"]})
    talk.manager.append({"role": "user", "content": "Do not wait for it."})
    view = talk.work(events.COMPACTION)
    assert blocks(view)
    late = {"type": "tool_result", "tool_use_id": response["content"][-1]["id"], "content": "It came."}
    talk.manager.append({"role": "user", "content": [late]})
    view = talk.send()
    assert "It came." in str(view)
    assert len(blocks(view)) == 1


def test_a_lane_of_another_vendor_does_without_the_block():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    assert blocks(talk.manager.get_messages_for_request(lane="claude-fable-5-1"))
    other = talk.manager.get_messages_for_request(lane="gpt-6.2-sol")
    assert not blocks(other)
    assert "Earlier messages are compacted here" in str(other)
    assert any(str(message["content"]).startswith("Go through the notes.") for message in other)


def test_a_lane_that_cannot_read_the_block_does_without_it():
    talk = NativeTalk()
    talk.work(events.COMPACTION)
    for lane in ("gemini-2.5-pro", "claude-haiku-4-5", "us.anthropic.claude-opus-5-5-v1:0"):
        other = talk.manager.get_messages_for_request(lane=lane)
        assert not blocks(other)
        assert "Earlier messages are compacted here" in str(other)


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize("strategies", ["auto", ["native", "digest"]])
def test_a_model_that_is_not_compacted_is_not_asked(strategies):
    """Amazon Bedrock does not compact on demand. The lane names the platform."""
    talk = NativeTalk(strategies=strategies)
    lane = "us.anthropic.claude-opus-5-5-20260922-v1:0"
    for _ in range(90):
        view = talk.send(lane)
    assert talk.names.count(events.COMPACTION) > 2
    assert talk.asked == []
    assert not blocks(view)
    assert talk.payloads(events.NATIVE_UNAVAILABLE) == [{"lane": lane, "model": lane}]


def test_a_model_that_is_not_compacted_is_reported_once():
    talk = NativeTalk(model="claude-haiku-4-5")
    with pytest.warns(BackscrollWarning, match="'claude-haiku-4-5' of lane 'main' is not compacted by its provider"):
        talk.work("never", 60)
    assert talk.names.count(events.NATIVE_UNAVAILABLE) == 1
    assert talk.asked == []


def test_auto_is_silent_where_it_would_not_ask():
    """The reasoning of this model is not bound, so a block would not pay."""
    talk = NativeTalk(model="claude-haiku-4-5", strategies="auto")
    talk.work("never", 60)
    assert events.NATIVE_UNAVAILABLE not in talk.names


def test_a_named_model_of_such_a_vendor_is_asked():
    talk = NativeTalk(model="claude-haiku-4-5", native_model="claude-haiku-4-5")
    with pytest.warns(BackscrollWarning, match="this model does not support compaction on demand"):
        talk.work(events.NATIVE_FAILED)
    assert [request.model for request in talk.asked] == ["claude-haiku-4-5"]


@pytest.mark.parametrize("named", ["gpt-6.2-sol", "gemini-2.5-pro"])
def test_a_named_model_of_another_vendor_is_not_asked(named):
    """The lane could not read its block."""
    talk = NativeTalk(native_model=named)
    with pytest.warns(BackscrollWarning, match="is not compacted by its provider"):
        talk.work("never", 40)
    assert talk.asked == []


def test_pinned_and_system_messages_are_quoted():
    talk = NativeTalk()
    talk.manager.append({"role": "user", "content": "The key is K-17.", "metadata": {"pinned": True}})
    view = talk.work(events.COMPACTION)
    assert "user: The key is K-17." in notes(view)
    assert {"role": "user", "content": "The key is K-17."} not in view


def test_a_pinned_picture_is_not_compacted():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    talk = NativeTalk(strategies=["native"])
    for _ in range(4):
        talk.send()
    talk.manager.append({"role": "user", "content": [picture], "metadata": {"pinned": True}})
    for _ in range(12):
        view = talk.send()
        assert any(message["content"] == [picture] for message in view)


def test_auto_asks_only_where_reasoning_is_bound():
    bound = NativeTalk(strategies="auto", budget=12_000, protect=Protection(recent=0.3))
    bound.work(events.NATIVE_READY)
    free = NativeTalk(strategies="auto", budget=12_000, model="claude-opus-5", protect=Protection(recent=0.3))
    free.work(events.COMPACTION)
    assert free.asked == []


def test_a_request_may_wait_for_a_block():
    talk = NativeTalk(looks=1_000_000)
    waited = []
    talk.options["native"] = NativeCompaction(talk.compact, wait_seconds=5)

    class Waiting(LateManager):
        def _make_background(self):
            late = super()._make_background()
            late.wait = lambda seconds: (waited.append(seconds), setattr(late, "_left", 0))  # type: ignore[method-assign, assignment, func-returns-value]  # notes it, and is done
            return late

    talk.manager = Waiting(
        talk.looks, on_event=lambda name, payload: talk.events.append((name, payload)), **talk.options
    )
    talk.manager.append({"role": "user", "content": "Begin."})
    view = talk.work(events.COMPACTION)
    assert waited == [5]
    assert blocks(view)


def test_it_works_with_an_async_function():
    talk = NativeTalk()

    async def compact(request):
        await asyncio.sleep(0)
        return talk.compact(request)

    async def work():
        options = {**talk.options, "native": NativeCompaction(compact, wait_seconds=10)}
        async with AsyncContextManager(**options) as manager:
            await manager.append({"role": "user", "content": "Begin."})
            for _ in range(30):
                view = await manager.get_messages_for_request()
                if blocks(view):
                    return view
                response = talk.provider.create(**talk.request(view))
                await manager.append({"role": "assistant", "content": response["content"]})
                known = response["content"][-1]["id"]
                result = {"type": "tool_result", "tool_use_id": known, "content": talk.note()}
                await manager.append({"role": "user", "content": [result]})
        return []

    view = asyncio.run(work())
    assert blocks(view)
    assert thoughts(view)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"strategies": ["native"], "native": None}, "needs the option `native`"),
        ({"strategies": [NativeStrategy()], "native": None}, "needs the option `native`"),
        ({"strategies": ["digest"]}, "`native` has no effect"),
        ({"strategies": None}, "`native` has no effect"),
        ({"native": print}, "must be a NativeCompaction"),
    ],
)
def test_options_that_cannot_work_are_refused(options, match):
    with pytest.raises(ConfigurationError, match=match):
        NativeTalk(**options)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"fn": "x"}, "must be a function"),
        ({"fn": print, "model": ""}, "must be the name of a model"),
        ({"fn": print, "wait_seconds": -1}, "must be a number of seconds"),
    ],
)
def test_native_compaction_checks_its_values(arguments, match):
    with pytest.raises(ConfigurationError, match=match):
        NativeCompaction(**arguments)
