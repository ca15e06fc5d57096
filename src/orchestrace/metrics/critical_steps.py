"""Critical steps: the staged length of a team's work in turns, which needs no clock."""

from orchestrace.trace import Trace
from orchestrace.trace.views import Stage, stages


def critical_steps(trace: Trace) -> int:
    """Turns on the longest branch of each stage, summed over the stages.

        CriticalSteps = Σₜ (S_main(t) + maxᵢ S_sub,i(t)),     S_sub = own turns + max over the agents it set to work

    A step is a turn. A stage begins at each root turn that follows a return not yet seen; an agent belongs to the stage
    of its spawn, and each later delegate opens a new membership (`views.stages`). Roots that run side by side count
    with the longest. Source: Kimi K2.5's PARL, for one level of sub-agents; the recursion is ours.
    """
    return sum(_longest(stage) for stage in stages(trace))


def _longest(stage: Stage) -> int:
    """Turns on the longest branch. A member stands behind the one that set it to work, so one backward pass does it."""
    below = [0] * len(stage.members)
    longest = 0
    for place in range(len(stage.members) - 1, -1, -1):
        member = stage.members[place]
        steps = len(member.turns) + below[place]
        if member.parent is None:
            longest = max(longest, steps)
        else:
            below[member.parent] = max(below[member.parent], steps)
    return longest
