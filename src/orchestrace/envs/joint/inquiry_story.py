"""An inquiry as a trace: spawns for the team, delegations for the jobs, messages for the details."""

from collections.abc import Sequence

from orchestrace.envs.joint.inquiry_process import Options, State
from orchestrace.envs.protocol import END
from orchestrace.envs.story import ORCHESTRATOR, Move, Story


def tell(story: Story, move: Move, *, states: Sequence[State], choices: Options) -> None:
    """Events of one move; the choice stands on the decision that opens them, an answer's on the stop."""
    state, action = states[move.state], story.env.actions[move.action]
    if action in ("answer", "abstain"):
        return _ended(story, move, state, abstains=action == "abstain")
    story.decided(move.choice)
    after = states[move.target] if move.target != END else state
    if state.level == "O1":
        for kind, count in zip("AB", after.team, strict=True):
            for i in range(count):
                story.spawned(f"{kind}{i}", role=f"agent of kind {kind}")
    elif state.level == "O2":
        _worked(story, state, after, ask=choices.asks[move.action - 2 - len(choices.teams)])
    elif state.level == "O3":
        _heard(story, state, after, details=action == "detail")
    return None


def _worked(story: Story, state: State, after: State, *, ask: tuple[int, int, int]) -> None:
    """The jobs are handed out and the short reports come in; copies cite their source."""
    replies = {}
    report = after.report
    if report is not None:
        for kind, jobs, sources, up in (
            ("A", ask[0], report.sources_a, report.up_a),
            ("B", ask[1], report.sources_b, report.up_b),
        ):
            signs = ["+1"] * up + ["-1"] * (sources - up)
            for i in range(jobs):
                story.delegated(f"{kind}{i}", "Is it +1 or -1? Report the sign.")
                copied = i >= sources
                replies[f"{kind}{i}"] = f"{signs[0]}, from the source of {kind}0" if copied else signs[i]
    if ask[2]:
        story.worked_alone(seconds=1.0)
    returned = story.worked(replies, seconds=story.drawn_seconds(len(replies)))
    story.heard = list(returned.values())
    if report is None:
        story.aggregated([], f"own work: log-odds {state.x:+d} to {after.x:+d}", method="weighted_vote")


def _heard(story: Story, state: State, after: State, *, details: bool) -> None:
    """The reports are weighed, after their details were bought or without."""
    inputs = list(story.heard)
    if details and state.report is not None:
        for kind, sources in (("A", state.report.sources_a), ("B", state.report.sources_b)):
            for i in range(sources):
                story.said(ORCHESTRATOR, "How do you know?", to=f"{kind}{i}")
                inputs.append(story.said(f"{kind}{i}", "Here is how I know.", to=ORCHESTRATOR))
    story.aggregated(inputs, f"log-odds {state.x:+d} to {after.x:+d}", method="weighted_vote")
    story.heard = []


def _ended(story: Story, move: Move, state: State, *, abstains: bool) -> None:
    leading = "+1" if state.x >= 0 else "-1"
    if abstains:
        story.ended("no answer", choice=move.choice)
        return
    right = move.reward > 0
    other = "-1" if leading == "+1" else "+1"
    story.metrics["correct"] = float(right)
    story.ended(leading, choice=move.choice, truth=leading if right else other)
