"""Credit in words, for policies that are prompts: LangMARL."""

from collections.abc import Mapping, Sequence

from orchestrace.credit.counterfactuals.text import TextCredit, TextCritic, checked_texts


def langmarl(critic: TextCritic, agents: Mapping[str, Sequence[str]]) -> tuple[TextCredit, ...]:
    """A central critic says in words what each agent did for each trace.

    Source: LangMARL, arXiv 2604.00722
    Unit: agent
    Kind: text
    Formula: C_i = critic(trace, i); then prompt_i ← optimizer(prompt_i, all directions(prompt_i, C_i))
    Data: a critic; trace id -> the agents that took part
    Evidence: secondary
    Departures: directions and the optimizer are the caller's; who got credit is checked
    """
    found = [credit for trace, names in agents.items() for credit in critic(trace, names)]
    return checked_texts(found, agents=agents)
