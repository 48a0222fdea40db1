"""Promise 6: changing what a caller gave or got changes nothing stored."""

import copy

from hypothesis import given

from tests.builders import BUDGETS, conversations, session_with_both_triggers
from tests.views import spoil


@given(conversations(), BUDGETS)
def test_6_changing_what_one_got_or_gave_changes_nothing_stored(messages, budget):
    given_away = copy.deepcopy(messages)
    watched, undisturbed = session_with_both_triggers(), session_with_both_triggers()
    for message, twin in zip(given_away, messages, strict=True):
        watched.manager.append(message)
        undisturbed.manager.append(twin)
        spoil(message)
        view = watched.view(budget)
        assert view == undisturbed.view(budget)
        for got in (*(view or ()), *watched.manager.get_messages()):
            spoil(got)
    assert watched.manager.get_messages() == messages
