"""Any order of everything a session can do, against a plain list: the promises hold after every step."""

from types import MappingProxyType

from hypothesis import HealthCheck, settings

from tests.profiles import examples
from tests.promises.session_machine import SessionMachine, quiet

TestSession = quiet(SessionMachine.TestCase)
TestSession.settings = settings(
    max_examples=examples(40), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)


class HandoverMachine(SessionMachine):
    """The same in the mode `handover`."""

    options = MappingProxyType({"mode": "standard"})


TestHandoverSession = quiet(HandoverMachine.TestCase)
TestHandoverSession.settings = settings(
    max_examples=examples(8), stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
