"""Hypothesis profiles: `ci` repeats itself, so that a red run can be run again; `long` looks harder (make test-long).

No deadlines: a busy machine is no bug.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "default")
