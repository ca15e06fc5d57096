"""How much each token counts: whose vote it is part of.

The loss of a batch is Σ over rows Σ over trained tokens of weight × loss of the token. R rollouts, N rows, K trained
tokens; K_r those of rollout r, K_n those of row n. The weight of a token of row n, which is of rollout r:

    per_rollout   1 / (R · K_r)    one vote a rollout, whatever its number of rows (ours; MATPO, arXiv 2510.04678, and
                                   Agent Lightning, arXiv 2508.03680, too count rollouts and not rows)
    per_row       1 / (N · K_n)    one vote a row: a rollout with three sub-agents counts four times (the mean over
                                   sequences of GRPO, arXiv 2402.03300, each row being a sequence)
    per_token     1 / K            one vote a token: long rollouts count more (the token mean of DAPO, arXiv 2503.14476)

Each is worked out among the rows of one policy, since another policy's rows train other weights. So the weights of a
policy's trained tokens sum to 1.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

Weighting = Literal["per_rollout", "per_row", "per_token"]


class Voter(NamedTuple):
    """A row, as far as its weight depends on it."""

    policy: str
    rollout: str
    trained: int
    """Tokens that train, 1 or more."""


def token_weights(voters: Sequence[Voter], weighting: Weighting) -> list[float]:
    """[N] the weight of each trained token of each row.

    Raises:
      ValueError: an unknown weighting, or a row that trains nothing.
    """
    if weighting not in get_args(Weighting):
        raise ValueError(f"no such weighting {weighting!r}; there are {', '.join(get_args(Weighting))}")
    if idle := next((voter for voter in voters if voter.trained < 1), None):
        raise ValueError(f"a row of rollout {idle.rollout!r} trains {idle.trained} tokens: it has no vote")
    rows = Counter(voter.policy for voter in voters)
    tokens: Counter[str] = Counter()
    of_rollout: Counter[tuple[str, str]] = Counter()
    for voter in voters:
        tokens[voter.policy] += voter.trained
        of_rollout[voter.policy, voter.rollout] += voter.trained
    rollouts = Counter(policy for policy, _ in of_rollout)
    match weighting:
        case "per_rollout":
            return [1.0 / (rollouts[v.policy] * of_rollout[v.policy, v.rollout]) for v in voters]
        case "per_row":
            return [1.0 / (rows[v.policy] * v.trained) for v in voters]
        case "per_token":
            return [1.0 / tokens[v.policy] for v in voters]
