"""Settings of the whole suite. No fixtures: tests build what they need, so that each can be read by itself."""

import os

from hypothesis import HealthCheck, settings

from tests.profiles import USUAL

settings.register_profile("default", max_examples=USUAL, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
