"""Any order of everything a session can do, against a plain list: the promises hold after every step."""

from types import MappingProxyType

from hypothesis import HealthCheck, settings

from tests.profiles import examples
from tests.promises.session_machine import SessionMachine, quiet

TestSession = quiet(SessionMachine.TestCase)
TestSession.settings = settings(
    max_examples=examples(40), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class FactsMachine(SessionMachine):
    """The same in the mode `facts`, whose views have a digest."""

    options = MappingProxyType({"mode": "facts"})


TestFactsSession = quiet(FactsMachine.TestCase)
TestFactsSession.settings = settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
