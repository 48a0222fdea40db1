"""Notice an agent without tool calls, whose host sends outputs of tools as messages of a user."""

from collections import deque

from backscroll.messages import ParsedMessage

TURNS = 10  # messages in a row that follow an answer without calls
LENGTH = 1_500  # characters of such a message on average: people type less, turn after turn


class LongTurns:
    """The lengths of the newest messages of a user that followed an answer, as long as no tool is called."""

    def __init__(self) -> None:
        self._lengths: deque[int] = deque(maxlen=TURNS)
        self._answered = self._done = False

    @property
    def average(self) -> int:
        """Characters of these messages on average."""
        return sum(self._lengths) // max(1, len(self._lengths))

    def add(self, reading: ParsedMessage) -> bool:
        """Note a message. Return True once: when the messages of the user are as long as outputs of tools."""
        flags = reading.flags
        if self._done or reading.is_system or flags.injected:
            return False
        if reading.calls or reading.outcomes or flags.typed:
            self._done = True
        elif reading.role == "assistant":
            self._answered = True
        elif reading.is_user_turn and self._answered:
            self._answered = False
            self._lengths.append(sum(len(part.text) for part in reading.parts if part.kind == "text"))
            self._done = len(self._lengths) == TURNS and self.average >= LENGTH
            return self._done
        return False
