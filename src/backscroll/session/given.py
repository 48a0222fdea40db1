"""Recognize the messages that a caller handed over before, so that `set_messages` reads only what is new."""

import marshal
from collections.abc import Sequence


class GivenMessages:
    """Fingerprints of the messages at the beginning of the branch, as a caller handed them over.

    A fingerprint is the hash of 16 messages together. It differs in each process, so it is never stored. Two different
    lists of messages get the same one with a chance of 1 in 2^64.
    """

    together = 16

    def __init__(self) -> None:
        self._prints: list[int] = []

    def in_common(self, messages: Sequence[object]) -> int:
        """Return with how many of the messages known here these begin: some multiple of `together`."""
        for number, known in enumerate(self._prints):
            if self._print(messages, number) != known:
                return number * self.together
        return len(self._prints) * self.together

    def note(self, messages: Sequence[object], same: int) -> None:
        """Note that the branch holds these messages, one for each. `same`: what `in_common` returned."""
        del self._prints[same // self.together :]
        for number in range(len(self._prints), len(messages) // self.together):
            some = messages[number * self.together : (number + 1) * self.together]
            found = self._print(messages, number) if all(map(_is_whole, some)) else None
            if found is None:
                return
            self._prints.append(found)

    def cut(self, length: int) -> None:
        """Forget what is behind this many messages."""
        del self._prints[length // self.together :]

    def _print(self, messages: Sequence[object], number: int) -> int | None:
        """Return the fingerprint of messages. `None`: they are too few, or hold other types than JSON has."""
        some = messages[number * self.together : (number + 1) * self.together]
        if len(some) < self.together:
            return None
        try:
            return hash(marshal.dumps(list(some), 2))  # from version 3 on it depends on who else holds an object
        except ValueError:
            return None


def _is_whole(message: object) -> bool:
    """Return whether this is a message: a bare item of the Responses API may join the one behind it."""
    return isinstance(message, dict) and "role" in message and "type" not in message
