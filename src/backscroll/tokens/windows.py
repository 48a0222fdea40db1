"""The window of a lane's model: as the options say, else as the table of known models says, else assumed."""

from collections.abc import Mapping
from typing import NamedTuple

from backscroll.tokens.known_models import ASSUMED_WINDOW, canonical, find_model


class ModelWindow(NamedTuple):
    """What one request and its answer may take, in tokens."""

    tokens: int
    """Input and output together."""
    max_output: int | None
    """Largest output. `None`: unknown."""
    max_input: int | None = None
    """Largest input, where it is below the window. `None`: no limit of its own."""
    assumed: str | None = None
    """The name of the model whose window is assumed. `None`: the window is known."""


def window_of(model: str, given: Mapping[str, int]) -> ModelWindow | None:
    """Return the window of a model; None if neither the options nor the table know it.

    Args:
        model: The name, as a provider or a gateway spells it.
        given: Windows in tokens by `canonical` name; they take precedence.
    """
    row = find_model(model)
    own = given.get(canonical(model)) or (given.get(canonical(row.id)) if row else None)
    if own is not None:
        return ModelWindow(own, row.max_output if row else None)
    return None if row is None else ModelWindow(row.window, row.max_output, row.max_input)


class LaneWindows(dict[str, ModelWindow | None]):
    """The windows of lanes by their names, each looked up once. None: no model is named.

    A lane named after a known model has that model's window, any other lane the window of the session's model. The
    window of a session's model that nothing knows is assumed.
    """

    def __init__(self, model: str | None = None, given: Mapping[str, int] | None = None) -> None:
        """Set up the lookup.

        Args:
            model: The session's model. `None`: not named.
            given: Windows in tokens by model name; they take precedence over the table.
        """
        super().__init__()
        self._model = model
        self._given = {canonical(name): tokens for name, tokens in (given or {}).items()}

    def __missing__(self, lane: str) -> ModelWindow | None:
        """Look up the window of a lane."""
        model = self._model
        found = window_of(lane, self._given)
        if found is None and model:
            found = window_of(model, self._given) or ModelWindow(ASSUMED_WINDOW, None, assumed=model)
        self[lane] = found
        return found
