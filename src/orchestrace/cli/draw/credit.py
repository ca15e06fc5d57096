"""Credit for a person to read: a ledger as a tree with bars, advantages as a table."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.cli.draw.columns import Column, table
from orchestrace.cli.screen import ascii_only, said

BAR = 16
"""Characters of the longest bar."""
MOST_ROWS = 60
MOST_LEDGERS = 10
"""Traces whose ledgers are shown."""
ROUNDING = 1e-6
"""A residual below this is rounding."""


def draw_credit(console: Console, credited: Sequence[tuple[str, Credit]], *, unit: UnitKind) -> None:
    """Print the credit of each trace: ledgers one by one, advantages of several traces in one table.

    Args:
      console: where to.
      credited: (trace id, its credit), at least one; all by one method.
      unit: what the rows are.
    """
    plain = ascii_only(console)
    if credited[0][1].kind == "share":
        for trace_id, credit in credited[:MOST_LEDGERS]:
            drawn = _ledger(credit, width=console.width, plain=plain)
            _section(console, f"{trace_id}: {credit.method} shares", credit, drawn)
        if len(credited) > MOST_LEDGERS:
            console.print(said(f"and {len(credited) - MOST_LEDGERS:,} more traces; --json lists them all", "dim"))
        return
    first = credited[0][1]
    several = len(credited) > 1
    title = f"{first.method} advantages" + (f" of {len(credited)} traces" if several else f": {credited[0][0]}")
    drawn = _compared(credited, unit, width=console.width, plain=plain, several=several and unit != "team")
    _section(console, title, first, drawn)
    more = sum(len(credit.rows) for _, credit in credited) - MOST_ROWS
    if more > 0:
        console.print(said(f"and {more:,} more rows; --json lists them all", "dim"))


def _section(console: Console, title: str, credit: Credit, drawn: Table) -> None:
    console.print(said(title, "bold"))
    console.print(said(credit.definition, "dim"))
    console.print(drawn)
    for note in _notes(credit):
        console.print(said(note, "dim"))
    console.print()


def _ledger(credit: Credit, *, width: int, plain: bool) -> Table:
    rows = credit.rows[:MOST_ROWS]
    names = [said("  " * indent + row.unit_id) for row, indent in zip(rows, _indents(rows), strict=True)]
    kinds = [Text((row.unit or "").replace("_", " "), "dim") for row in rows]
    columns = [Column("Unit", names, "left", least=10), Column("", kinds, "left", gives_way=2)]
    return table([*columns, *_numbers("Share", rows, plain=plain)], width=width)


def _compared(
    credited: Sequence[tuple[str, Credit]], unit: UnitKind, *, width: int, plain: bool, several: bool
) -> Table:
    both = [(trace_id, row) for trace_id, credit in credited for row in credit.rows][:MOST_ROWS]
    rows = [row for _, row in both]
    columns = [Column("Trace", [said(name, "dim") for name, _ in both], "left", gives_way=1)] if several else []
    columns.append(Column(unit.replace("_", " ").capitalize(), [said(row.unit_id) for row in rows], "left", least=10))
    return table([*columns, *_numbers("Advantage", rows, plain=plain)], width=width)


def _numbers(title: str, rows: Sequence[CreditRow], *, plain: bool) -> list[Column]:
    """The value, its error where one is known, and a bar, which gives way first."""
    most = max((abs(row.value) for row in rows), default=0.0)
    columns = [Column(title, [Text(f"{row.value:+.4f}") for row in rows])]
    if any(row.std_error is not None for row in rows):
        errors = ["" if row.std_error is None else f"{row.std_error:.4f}" for row in rows]
        columns.append(Column("+/-" if plain else "±", [Text(error, "dim") for error in errors], gives_way=3))
    return [*columns, Column("", [_bar(row.value, most, plain=plain) for row in rows], "left", gives_way=4)]


def _indents(rows: Sequence[CreditRow]) -> list[int]:
    """How deep each row of a ledger stands; a row follows its parent."""
    above: list[tuple[str | None, str]] = []
    found = []
    for row in rows:
        while above and above[-1] != (row.parent_unit, row.parent):
            above.pop()
        found.append(len(above))
        above.append((row.unit, row.unit_id))
    return found


def _bar(value: float, most: float, *, plain: bool) -> Text:
    length = round(BAR * (abs(value) / most)) if most else 0
    character = ("#" if plain else "█") if value > 0 else ("-" if plain else "░")
    return Text(character * length, "green" if value > 0 else "red")


def _notes(credit: Credit) -> list[str]:
    notes = []
    if credit.kind == "share" and len(credit.rows) > MOST_ROWS:
        notes.append(f"and {len(credit.rows) - MOST_ROWS:,} more units; --json lists them all")
    if credit.residual is not None:
        notes.append("the team's share is v(everybody) − v(nobody)")
        left = abs(credit.residual)
        notes.append(
            f"the shares sum to it within {left:.1e}" if left < ROUNDING else f"{credit.residual:+.4f} is left over"
        )
    if credit.group_key is not None:
        notes.append(f"compared within: {credit.group_key}")
    notes.append(f"{credit.model_calls:,} model calls")
    return notes + list(credit.notes)
