"""A batch: the rows of many rollouts, weighted, with everything counted that did not become one."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from orchestrace.rows.lineages import OnMismatch
from orchestrace.rows.rollouts import Mixed, Rollout, check_distinct, check_same, failure
from orchestrace.rows.rows import Drafted, Row, drafted
from orchestrace.rows.weights import Voter, Weighting, token_weights

Failed = Literal["exclude", "keep"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowBatch:
    """Rows for a trainer, and what a reader must know of them."""

    rows: tuple[Row, ...]
    """By rollout in the order they were given, then by first turn."""
    rollouts: int
    """How many were given."""
    excluded: Mapping[str, str]
    """Trace id -> why its rollout does not train."""
    left_out: Mapping[str, int]
    """Turns of the other rollouts that are in no row, by reason."""
    lacking: Mapping[str, int]
    """Turns in rows, by what was not recorded of them."""
    beginnings: Mapping[str, int]
    """Rows by why their lineage began (`Beginning`): all but `start` are splits."""
    unplaced: int
    """Events whose credit reached no token, since their turn or token span is not known."""
    zero_groups: tuple[str, ...]
    """Groups in which every advantage is 0."""
    warnings: tuple[str, ...]
    """Whatever a person should read before training, in sentences; empty: nothing."""

    @property
    def all_zero(self) -> bool:
        """Whether there are rows, and nothing in them trains because every advantage is 0."""
        return bool(self.rows) and not any(row.advantages.any() for row in self.rows)


def row_batch(
    rollouts: Iterable[Rollout],
    *,
    weighting: Weighting = "per_rollout",
    on_mismatch: OnMismatch = "error",
    failed: Failed = "exclude",
    allow: Collection[Mixed] = (),
    policies: Collection[str] | None = None,
) -> RowBatch:
    """Traces and their credit as training rows.

    Args:
      rollouts: what to train on. The order of the rollouts is the order of their rows, and matters for nothing else.
      weighting: whose vote a token is part of (`weights`).
      on_mismatch: `error`: refuse a prompt that has an agent say other tokens than it sampled; `split`: begin a row.
      failed: `exclude`: rollouts that failed (`failure`) do not train, and are counted; `keep`: they do, on the credit
        that they were given. A rollout without credit never trains.
      allow: what the batch may mix: `harness` (hashes), `policy_version` (of one policy).
      policies: which policies to make rows for; None: every one. Turns without a policy never train.

    Raises:
      InputError: the batch mixes what `allow` does not name; a rollout stands twice; a group has two tasks; token
        arrays or credit do not fit the trace; a mismatch, where it is an error.
      ValueError: a setting that is none.
    """
    _check_settings(weighting, on_mismatch, failed, allow, policies)
    given = tuple(rollouts)
    check_distinct(given)
    excluded = dict(_excluded(given, failed))
    kept = [rollout for rollout in given if rollout.trace.trace_id not in excluded]
    drafts = [drafted(rollout, on_mismatch=on_mismatch, policies=policies) for rollout in kept]
    rows = tuple(row for draft in drafts for row in draft.rows)
    _check_mixing(kept, rows, allow)
    weights = token_weights([Voter(row.policy, row.rollout, row.trained) for row in rows], weighting)
    rows = tuple(replace(row, weight=weight) for row, weight in zip(rows, weights, strict=True))
    return _batch(rows, drafts, excluded, len(given))


def _excluded(rollouts: Iterable[Rollout], failed: Failed) -> Iterator[tuple[str, str]]:
    """(trace id, why its rollout does not train)"""
    for rollout in rollouts:
        why = failure(rollout) if failed == "exclude" else None
        if why is not None or rollout.credit is None:
            yield rollout.trace.trace_id, why or "no credit"


def _check_settings(
    weighting: str, on_mismatch: str, failed: str, allow: Collection[str], policies: Collection[str] | None
) -> None:
    for name, value, known in (
        ("weighting", weighting, get_args(Weighting)),
        ("on_mismatch", on_mismatch, get_args(OnMismatch)),
        ("failed", failed, get_args(Failed)),
        *(("allow", kind, get_args(Mixed)) for kind in ((allow,) if isinstance(allow, str) else allow)),
    ):
        if value not in known:
            raise ValueError(f"{name} is {value!r}, expected one of {', '.join(known)}")
    for name, names in (("allow", allow), ("policies", policies)):
        if isinstance(names, str):
            raise ValueError(f"{name} is the text {names!r}, expected a collection of names: ({names!r},)")


def _check_mixing(rollouts: Sequence[Rollout], rows: Sequence[Row], allow: Collection[Mixed]) -> None:
    traces = [rollout.trace for rollout in rollouts]
    hashes = [(None if trace.harness is None else trace.harness.hash, trace.trace_id) for trace in traces]
    check_same(hashes, what="the harness hash", kind="harness", allow=allow)
    for policy in dict.fromkeys(row.policy for row in rows):
        versions = [(row.policy_version, row.rollout) for row in rows if row.policy == policy]
        check_same(versions, what=f"the version of policy {policy!r}", kind="policy_version", allow=allow)


def _batch(rows: tuple[Row, ...], drafts: Sequence[Drafted], excluded: Mapping[str, str], given: int) -> RowBatch:
    left_out: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    beginnings: Counter[str] = Counter()
    for draft in drafts:
        left_out += draft.left_out
        lacking += draft.lacking
        beginnings += draft.beginnings
    moved = {row.group_key for row in rows if row.advantages.any()}
    batch = RowBatch(
        rows=rows,
        rollouts=given,
        excluded=excluded,
        left_out=dict(left_out),
        lacking=dict(lacking),
        beginnings=dict(beginnings),
        unplaced=sum(draft.unplaced for draft in drafts),
        zero_groups=tuple(dict.fromkeys(row.group_key for row in rows if row.group_key not in moved)),
        warnings=(),
    )
    return replace(batch, warnings=tuple(_warnings(batch)))


def _warnings(batch: RowBatch) -> Iterator[str]:
    groups = len({row.group_key for row in batch.rows})
    if batch.all_zero:
        yield (
            f"ALL ADVANTAGES ARE ZERO: these {len(batch.rows)} rows train nothing. Every rollout of a group earned the "
            "same, groups hold one rollout each, or the credit was left at 0."
        )
    elif batch.zero_groups:
        yield f"{len(batch.zero_groups)} of {groups} groups train nothing: every advantage in them is 0."
    if not batch.rows:
        yield "There are no rows: nothing trains."
    if batch.excluded:
        why = _counted(Counter(batch.excluded.values()))
        yield f"{len(batch.excluded)} of {batch.rollouts} rollouts do not train: {why}."
    if batch.left_out:
        yield f"{sum(batch.left_out.values())} turns are in no row: {_counted(batch.left_out)}."
    if batch.lacking:
        yield f"Turns in rows lack something: {_counted(batch.lacking)}."
    if split := batch.beginnings.get("mismatch", 0):
        yield f"{split} rows begin where a prompt has its agent say other tokens than it sampled."
    if batch.unplaced:
        yield f"The credit of {batch.unplaced} events trains nothing: their turn or their token span is not known."


def _counted(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
