"""Detectors that look at one trace: what was said and never read, called and never used, spawned and never heard."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from orchestrace import metrics
from orchestrace.annotations import Evidence
from orchestrace.errors import TraceError
from orchestrace.metrics import ToolNames
from orchestrace.rewards._rows import counted
from orchestrace.rewards.findings import Finding, lacking
from orchestrace.trace import Aggregate, Memory, Message, Return, Stop, ToolCall, ToolResult, Trace, Turn
from orchestrace.trace.graph import Graph
from orchestrace.trace.views import spawn_tree, stages

SMALL_SHARE = 0.1
"""Of the mean size of a share: below, an agent brought next to nothing."""
LEAST_REPEATED, LEAST_MESSAGES = 0.5, 4
LEAST_WASTED, LEAST_WASTED_CALLS = 0.3, 5
LEAST_USELESS, LEAST_USELESS_AGENTS = 0.5, 2
LEAST_SAVED, SIDE_BY_SIDE = 0.05, 3


def free_riding(trace: Trace, evidence: Evidence) -> tuple[Finding, ...]:
    """Agents that brought next to nothing and cost something all the same, by `evidence.shares["agent"]`.

        |share| ≤ 0.1 · mean |share|,     and it used tokens (turns, where those are not known)

    A team that earned nothing has no free riders. Source of the idea: SHARP and Dr. MAS, by the survey (arXiv
    2605.02801); the limit is ours.
    """
    name = "free_riding"
    shares = evidence.shares.get("agent", {})
    if not shares:
        return lacking(name, "R1", traces=[trace], says="Free riding needs each agent's share of the reward.")
    spent = _spent(trace)
    limit = SMALL_SHARE * sum(map(abs, shares.values())) / len(shares)
    return tuple(
        Finding(
            name,
            "R1",
            f"Agent {agent!r} used {spent[agent]} and brought {share:.3g} of the team's reward.",
            (trace.trace_id,),
            units=(agent,),
            value=abs(share),
            limit=limit,
        )
        for agent, share in shares.items()
        if limit > 0 and abs(share) <= limit and agent in spent
    )


def unread_returns(trace: Trace, _evidence: Evidence) -> tuple[Finding, ...]:
    """Returns that no aggregate took up, and the tokens of agents that nobody listened to (`metrics.collaboration`)."""
    found = metrics.collaboration(trace)
    if not found.unconsumed_returns:
        return ()
    if not _records_aggregates(trace):
        return lacking("unread_returns", "R7", traces=[trace], says="The log does not record what was taken up.")
    tokens = found.unconsumed_tokens
    lost = f"; the agents that nobody listened to used {tokens:,} tokens" if tokens else ""
    n, verb = found.unconsumed_returns, "was" if found.unconsumed_returns == 1 else "were"
    says = f"{n} of {found.returns} returns {verb} never taken up{lost}."
    unread = n / found.returns
    return (Finding("unread_returns", "R7", says, (trace.trace_id,), value=unread, limit=0.0),)


def undelivered_messages(trace: Trace, _evidence: Evidence) -> tuple[Finding, ...]:
    """Messages of which the log shows that they never arrived."""
    lost = [event.id for event in trace.events if isinstance(event, Message) and event.delivered is False]
    if not lost:
        return ()
    sent = sum(isinstance(event, Message) for event in trace.events)
    says = f"{len(lost)} of {sent} messages never arrived."
    finding = Finding("undelivered_messages", "R6", says, (trace.trace_id,), units=tuple(lost), limit=0.0)
    return (finding,)


def repeated_messages(trace: Trace, _evidence: Evidence) -> tuple[Finding, ...]:
    """At least four messages, half of which say what their recipient had been told before, or nearly that."""
    if sum(isinstance(event, Message) for event in trace.events) < LEAST_MESSAGES:
        return ()
    found = metrics.collaboration(trace)
    shares = [share for share in (found.redundancy, found.near_redundancy) if share is not None]
    repeated = max(shares, default=0.0)
    if repeated < LEAST_REPEATED:
        return ()
    says = f"{repeated:.0%} of {found.messages} messages told their recipient what it had been told before."
    return (Finding("repeated_messages", "R6", says, (trace.trace_id,), value=repeated, limit=LEAST_REPEATED),)


def tool_spam(trace: Trace, _evidence: Evidence, *, paid: Mapping[str, float] | None = None) -> tuple[Finding, ...]:
    """At least five tool calls, and three in ten of all, that led nowhere: no later event depends on the result, or
    the same agent had made the same call before and got the same answer. Calls that wait, ask or manage do not count.

    Args:
      trace: any trace.
      _evidence: not needed.
      paid: tool call -> the tool reward that it earned; the sentence then tells what the useless ones earned.
    """
    calls, unread, repeated = _useless_calls(trace, _tools(trace))
    useless = unread | repeated
    if len(useless) < LEAST_WASTED_CALLS or len(useless) < LEAST_WASTED * calls:
        return ()
    parts = [f"{len(repeated)} repeated a call and got the same answer"] if repeated else []
    parts += [f"the results of {len(unread)} were never read"] if unread else []
    earned = sum(value for call, value in (paid or {}).items() if call in useless)
    bonus = f"; they earned {earned:.3g} of tool reward" if earned > 0 else ""
    says = f"{len(useless)} of {calls} tool calls led nowhere: {', '.join(parts)}{bonus}."
    units = tuple(event.id for event in trace.events if event.id in useless)
    share = len(useless) / calls
    return (Finding("tool_spam", "R5", says, (trace.trace_id,), units=units, value=share, limit=LEAST_WASTED),)


def pseudo_parallelism(trace: Trace, _evidence: Evidence) -> tuple[Finding, ...]:
    """Agents that were spawned for nothing, or side by side for no gain in time.

    Two agents at least, and half of all that were spawned, did nothing, or nothing of theirs reached the last answer,
    or none of their returns was taken up and they left no message or memory. Or three agents or more worked in one
    round, and the time in which anyone was busy is hardly shorter than all their work together:
    1 − busy time / work < 0.05, in seconds. Source: the survey (arXiv 2605.02801) names the hack; the rules are ours.
    """
    return _for_nothing(trace) + _for_no_gain(trace)


def _for_nothing(trace: Trace) -> tuple[Finding, ...]:
    spawned = spawn_tree(trace).spawns
    if len(spawned) < LEAST_USELESS_AGENTS:
        return ()
    stops = [place for place, event in enumerate(trace.events) if isinstance(event, Stop)]
    if not stops:
        return lacking("pseudo_parallelism", "R7", traces=[trace], says="The team has not answered yet.")
    try:
        reached = {trace.events[place].agent for place in Graph.of(trace).ancestors(stops[-1]).tolist()}
    except TraceError as fault:
        return lacking("pseudo_parallelism", "R7", traces=[trace], says=f"The graph cannot be walked: {fault}.")
    acted = {event.agent for event in trace.events if isinstance(event, Turn | ToolCall)}
    heard = acted & reached - _unheard(trace)
    useless = tuple(agent for agent in spawned if agent not in heard)
    share = len(useless) / len(spawned)
    if len(useless) < LEAST_USELESS_AGENTS or share < LEAST_USELESS:
        return ()
    says = f"{len(useless)} of {len(spawned)} spawned agents did nothing, or nothing of theirs was used."
    ids = (trace.trace_id,)
    return (Finding("pseudo_parallelism", "R7", says, ids, units=useless, value=share, limit=LEAST_USELESS),)


def _for_no_gain(trace: Trace) -> tuple[Finding, ...]:
    widest = max((sum(bool(m.opened_by and m.turns) for m in stage.members) for stage in stages(trace)), default=0)
    if widest < SIDE_BY_SIDE:
        return ()
    times = metrics.parallelism(trace, tools=_tools(trace))
    if not times.work_s or times.wall_s is None or times.idle_s is None:
        return ()
    # Not the span: that is short wherever agents could have run side by side, whether or not they did.
    saved = max(0.0, 1 - (times.wall_s - times.idle_s) / times.work_s)
    if saved >= LEAST_SAVED:
        return ()
    says = f"{widest} agents were set to work side by side, yet that saved only {saved:.0%} of the work."
    return (Finding("pseudo_parallelism", "R7", says, (trace.trace_id,), value=saved, limit=LEAST_SAVED),)


def _unheard(trace: Trace) -> set[str]:
    """Agents that returned, but of which nothing was taken up and that left no message or memory either."""
    if not _records_aggregates(trace):
        return set()
    taken = metrics.taken_up(trace)
    returned = {event.agent for event in trace.events if isinstance(event, Return)}
    heard = {event.agent for event in trace.events if _leaves_a_word(event, taken)}
    return returned - heard


def _leaves_a_word(event: object, taken: Collection[str]) -> bool:
    match event:
        case Return():
            return event.id in taken
        case Message():
            return event.id in taken or event.delivered is True
        case Memory():
            return event.op == "write"
        case _:
            return False


def _records_aggregates(trace: Trace) -> bool:
    """Whether a return that no aggregate took up says something: an import may know no aggregates at all."""
    return trace.native or any(isinstance(event, Aggregate) for event in trace.events)


def _tools(trace: Trace) -> ToolNames:
    return metrics.tool_names(trace.source.adapter if trace.source is not None else None)


def _spent(trace: Trace) -> dict[str, str]:
    """What each agent with a turn used, in words."""
    by_agent: defaultdict[str, list[Turn]] = defaultdict(list)
    for event in trace.events:
        if isinstance(event, Turn):
            by_agent[event.agent].append(event)
    found = {}
    for agent, own in by_agent.items():
        total = metrics.token_totals(own).total
        found[agent] = f"{total:,} tokens" if total is not None else counted(len(own), "turn")
    return found


def _useless_calls(trace: Trace, names: ToolNames) -> tuple[int, set[str], set[str]]:
    """Calls that were answered; those whose result nobody read; those that repeated one and its answer."""
    no_work = names.waiting | names.asking | names.managing
    calls = {e.id: e for e in trace.events if isinstance(e, ToolCall) and e.tool not in no_work}
    results = [e for e in trace.events if isinstance(e, ToolResult) and e.call in calls]
    sources = {edge.src for edge in trace.edges}
    unread = {result.call for result in results if result.id not in sources}
    repeated, seen = set(), set()
    for result in results:
        call = calls[result.call]
        if call.content is not None and result.content is not None:
            both = (call.agent, call.tool, call.content.hash, result.content.hash)
            if both in seen:
                repeated.add(call.id)
            seen.add(both)
    return len(results), unread, repeated
