"""A hand-over in Amplifier: it has the role of the user and is never taken for the words of the user."""

from tests.integrations.amplifier.harness import awaited, mounted, rounds, say

PROSE = "one plain word follows the other and nothing is said by it "
READING = [say("user", "Read all."), *rounds(range(60), PROSE * 20)]


@awaited
async def test_handover_is_marked_as_passing():
    """A loop puts reminders in front of the last user message that is not marked: that one is the user's."""
    async with mounted({"max_tokens": 8_000, "mode": "standard"}) as ours:
        await ours.add(*READING)
        view = await ours.view()
        handover = next(message for message in view if "compacted here" in str(message["content"]))
        assert handover["role"] == "user"
        assert handover["metadata"] == {"ephemeral": True}
        assert [message for message in view if message["role"] == "user" and "metadata" not in message] == READING[:1]


@awaited
async def test_last_message_of_the_user_stays_also_after_a_rewind():
    """A loop puts its reminder in front of it. A rewind makes an older one the last, which the view no longer had."""
    async with mounted({"max_tokens": 8_000}) as ours:
        asked = say("user", "Now the others.")
        await ours.add(*READING[:41], asked, *READING[41:], say("user", "And the last ones."), *READING[1:21])
        view = await ours.view()
        assert [message["content"] for message in view if message["role"] == "user" and "metadata" not in message] == [
            "Read all.",
            "And the last ones.",
        ]
        await ours.context.set_messages((await ours.kept())[:100])
        view = await ours.view()
        assert [message for message in view if message["role"] == "user" and "metadata" not in message][-1] == asked
