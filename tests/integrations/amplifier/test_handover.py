"""The mode `handover` in Amplifier: the hand-over in the user's role is never taken for the user's words."""

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
