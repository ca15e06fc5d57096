"""Credit for a person to read: a ledger as a tree with bars, advantages as a table."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.cli.screen import ascii_only, said

BAR = 16
"""Characters of the longest bar."""
MOST_ROWS = 60


def draw_credit(console: Console, credited: Sequence[tuple[str, Credit]], *, unit: UnitKind) -> None:
    """Print the credit of each trace: ledgers one by one, advantages of several traces in one table.

    Args:
      console: where to.
      credited: (trace id, its credit), at least one; all by one method.
      unit: what the rows are.
    """
    plain = ascii_only(console)
    if credited[0][1].kind == "share":
        for trace_id, credit in credited:
            _section(console, f"{trace_id}: {credit.method} shares", credit, _ledger(credit, plain=plain))
        return
    first = credited[0][1]
    several = len(credited) > 1
    title = f"{first.method} advantages" + (f" of {len(credited)} traces" if several else f": {credited[0][0]}")
    _section(console, title, first, _compared(credited, unit, plain=plain, several=several and unit != "team"))
    more = sum(len(credit.rows) for _, credit in credited) - MOST_ROWS
    if more > 0:
        console.print(said(f"and {more:,} more rows; --json lists them all", "dim"))


def _section(console: Console, title: str, credit: Credit, table: Table) -> None:
    console.print(said(title, "bold"))
    console.print(said(credit.definition, "dim"))
    console.print(table)
    for note in _notes(credit):
        console.print(said(note, "dim"))
    console.print()


def _ledger(credit: Credit, *, plain: bool) -> Table:
    drawn = _drawn("Unit", "", "Share", "±", "")
    rows = credit.rows[:MOST_ROWS]
    most = max((abs(row.value) for row in rows), default=0.0)
    for row, indent in zip(rows, _indents(rows), strict=True):
        name = said("  " * indent + row.unit_id)
        kind = Text((row.unit or "").replace("_", " "), "dim")
        drawn.add_row(name, kind, *_cells(row, most, plain=plain))
    return drawn


def _compared(credited: Sequence[tuple[str, Credit]], unit: UnitKind, *, plain: bool, several: bool) -> Table:
    rows = [(trace_id, row) for trace_id, credit in credited for row in credit.rows][:MOST_ROWS]
    most = max((abs(row.value) for _, row in rows), default=0.0)
    drawn = _drawn(*(["Trace"] if several else []), unit.replace("_", " ").capitalize(), "Advantage", "±", "")
    for trace_id, row in rows:
        names = [said(trace_id, "dim")] if several else []
        drawn.add_row(*names, said(row.unit_id), *_cells(row, most, plain=plain))
    return drawn


def _drawn(*titles: str) -> Table:
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for title in titles:
        drawn.add_column(title, justify="right" if title in ("Share", "Advantage", "±") else "left", no_wrap=True)
    return drawn


def _cells(row: CreditRow, most: float, *, plain: bool) -> tuple[Text, Text, Text]:
    error = "" if row.std_error is None else f"{row.std_error:.4f}"
    return Text(f"{row.value:+.4f}"), Text(error, "dim"), _bar(row.value, most, plain=plain)


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
    return Text(("#" if plain else "█") * length, "green" if value > 0 else "red")


def _notes(credit: Credit) -> list[str]:
    notes = []
    if credit.kind == "share" and len(credit.rows) > MOST_ROWS:
        notes.append(f"and {len(credit.rows) - MOST_ROWS:,} more units; --json lists them all")
    if credit.residual is not None:
        notes.append(f"the shares sum to the team's within {abs(credit.residual):.1e}")
    if credit.group_key is not None:
        notes.append(f"compared within: {credit.group_key}")
    notes.append(f"{credit.model_calls:,} model calls")
    return notes + list(credit.notes)
