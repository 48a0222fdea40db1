"""Records whose checksums are right and whose contents are wrong: damage that is named, and never another failure."""

import random
import warnings
from contextlib import suppress
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BudgetError, ContextManager
from backscroll.errors import ConfigurationError, ConflictError, CorruptionError, ReferenceNotFoundError
from backscroll.stores.memory import MemoryStore
from tests.history.crafting import OPTIONS, crafted, session_of_all_kinds
from tests.profiles import examples

ACTIONS = (
    lambda context: context.get_messages(),
    lambda context: context.get_messages_for_request(),
    lambda context: context.explain(),
    lambda context: context.window_report(),
    lambda context: [context.get_request(request.at) for request in context.list_requests()[-3:]],
    lambda context: context.view(at=5),
    lambda context: context.history(at=40),
    lambda context: context.recall(query="value"),
    lambda context: context.recall(ref="3"),
    lambda context: context.append({"role": "user", "content": "more"}),
    lambda context: context.get_messages_for_request(token_budget=1_500),
    lambda context: context.undo_compaction(),
    lambda context: context.compact(),
    lambda context: context.pin(3),
    lambda context: context.fork("t", at=20),
    lambda context: context.rewind(3),
    lambda context: context.get_messages_for_request(),
    lambda context: context.close(),
)
ALLOWED = (BudgetError, ConfigurationError, ConflictError, ReferenceNotFoundError)
"""What a sound session may answer as well."""


@cache
def real():
    """The records of a session with every kind of event."""
    store = MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session_of_all_kinds(store).close()
    return [stored.record for stored in store.read("s")]


@given(st.integers(0, 2**64))
@settings(max_examples=examples(100))
def test_crafted_records_raise_nothing_but_damage(seed):
    """Opened, resumed, shown and worked with, such a session raises `CorruptionError` with its name and the place."""
    context = ContextManager(session="s", store=crafted(real(), random.Random(seed)), **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for action in ACTIONS:
            with suppress(*ALLOWED):
                try:
                    action(context)
                except CorruptionError as error:
                    assert "session 's'" in str(error)  # noqa: PT017  what else it raises fails the test by itself
                    assert "record" in str(error) or "message" in str(error)  # noqa: PT017  the same


def test_real_records_raise_nothing():
    """The session that the crafted ones are made of is sound."""
    store = MemoryStore()
    store.append("s", 0, real()).result()
    context = ContextManager(session="s", store=store, **OPTIONS)
    assert len(context.get_messages()) == 62
    context.get_messages_for_request()
    context.close()
