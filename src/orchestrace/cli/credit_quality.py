"""`orchestrace eval --credit`: every credit method against the true advantage of each decision."""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from rich.text import Text

from orchestrace.cli.progress import counting
from orchestrace.cli.screen import results, said
from orchestrace.envs import Env, Grade, optimal_policy
from orchestrace.errors import InputError

POLICIES = ("mixed", "uniform")


def player(env: Env, name: str) -> NDArray[np.float64]:
    """[S, A] who plays: `uniform` takes any legal action, `mixed` an optimal one half of the time and else any."""
    legal = env.legal().astype(np.float64)
    spread: NDArray[np.float64] = legal / legal.sum(axis=1, keepdims=True)
    return spread if name == "uniform" else 0.5 * spread + 0.5 * optimal_policy(env)


def compared_credit(
    played: Mapping[str, tuple[Env, str]],
    tables: Mapping[str, NDArray[np.float64]],
    *,
    episodes: int,
    seeds: int,
    grade: Grade,
) -> dict[str, Any]:
    """The JSON contract of `eval --credit`: {"comparisons": {setting: comparison}}.

    Args:
      played: environment and name of the policy, by setting.
      tables: policies [S, A] by setting; one that is missing is made by its name, see `player`.
      episodes: of each seed.
      seeds: samples.
      grade: what the environments pay.

    Raises:
      InputError: a policy never has a choice.
    """
    from orchestrace.training.credit_quality import compared

    found = {}
    with counting("credit methods judged") as advance:
        for label, (env, name) in played.items():
            policy = tables[label] if label in tables else player(env, name)
            try:
                found[label] = compared(
                    env, policy, name=name, episodes=episodes, seeds=seeds, grade=grade, progress=lambda _: advance()
                )
            except ValueError as error:
                raise InputError(str(error), place=label) from None
    return {"comparisons": msgspec.to_builtins(found)}


def draw_credit(document: Mapping[str, Any]) -> None:
    """Print each comparison, the best method first."""
    console = results()
    for label, comparison in document["comparisons"].items():
        console.print(said(f"{label}, played by {comparison['policy']}", "bold"))
        console.print(Text(_sampled(comparison), style="dim"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
        for title in ("Method", "Spearman", "95%", "MSE", "Explained", "Calls", ""):
            table.add_column(title, justify="left" if title in ("Method", "") else "right", no_wrap=title != "")
        for row in comparison["methods"]:
            table.add_row(*_cells(row))
        console.print(table)
        for method, why in comparison["left_out"].items():
            console.print(Text(f"{method} left out: {why}", style="dim"))
    explained = "Explained: squared correlation with the truth. Calls: model calls a decision, its own included."
    console.print(Text(explained, style="dim"))


def _sampled(comparison: Mapping[str, Any]) -> str:
    return (
        f"{comparison['seeds']} seeds of {comparison['episodes']:,} episodes, {comparison['decisions']:,.0f} decisions "
        f"each; the true advantages have a standard deviation of {comparison['truth_std']:.4f}."
    )


def _cells(row: Any) -> list[str]:
    if row["spearman"] is None:
        rank, interval, explained = "–", "", "–"
    else:
        low, high = row["spearman_ci"]
        rank, interval, explained = f"{row['spearman']:.3f}", f"{low:.3f} to {high:.3f}", f"{row['explained']:.3f}"
    calls = f"{row['calls_per_decision']:.1f}"
    return [row["method"], rank, interval, f"{row['mse']:.4f}", explained, calls, row["about"]]
