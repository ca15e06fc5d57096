"""What a reward function gives: rows, or the reason why there are none.

Every reward function of this package is a pure function `(trace, evidence, ...) -> Rewards`. A channel that can be
worked out gives at least one row; a unit of which nothing is known has no row; a channel of which nothing is known at
all is an `Unavailable`, never a row of 0. What a function gives in the place of rows cannot be mistaken for some, so
the type checker finds whoever forgets it. `compose.composed` takes both and keeps the reasons.
"""

import msgspec

from orchestrace.annotations import Reward


class Unavailable(msgspec.Struct, frozen=True, gc=False):
    """A channel that could not be worked out on a trace."""

    channel: str
    why: str
    """What is missing, in words."""


Rewards = tuple[Reward, ...] | Unavailable
"""The rows of a channel, or of a few that belong together; or why there are none."""


def rows(given: Rewards) -> tuple[Reward, ...]:
    """The rows, where there are any: what is kept beside a trace (`annotations.Annotations.rewards`)."""
    return () if isinstance(given, Unavailable) else given
