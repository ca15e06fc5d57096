"""A policy held still while another one learns, and renewed from it now and then."""

import copy

from orchestrace.training._torch import torch
from orchestrace.training.policies import Policy


class Reference(torch.nn.Module):
    """A copy of a policy, and for how many updates it has been the reference.

    Args:
      policy: copied as it stands.
    """

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self.policy = copy.deepcopy(policy)
        self.register_buffer("age", torch.zeros(1, dtype=torch.int64))

    def renew(self, policy: Policy, *, after: int) -> None:
        """Grow older by an update; first become the policy, if old enough. `after` = 0: never."""
        age = self.get_buffer("age")
        if after and int(age) >= after:
            self.policy.load_state_dict(policy.state_dict())
            age.zero_()
        age.add_(1)
