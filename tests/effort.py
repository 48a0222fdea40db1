"""How much is tried. A normal run takes enough to prove a thing; `HYPOTHESIS_PROFILE=thorough` takes all there is."""

import os

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
