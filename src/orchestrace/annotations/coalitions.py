"""Values of coalitions that were worked out elsewhere: by replays, a critic, a person."""

import math

import msgspec

from orchestrace.annotations._decoding import decoded
from orchestrace.annotations.units import UnitKind
from orchestrace.errors import InputError


class CoalitionValue(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """What the team earns when only these units are there."""

    units: tuple[str, ...]
    """Their ids; empty: nobody."""
    value: float
    n: int | None = None
    """Replays behind it; absent: not known."""


class CoalitionValues(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A game as a table. As a file, one JSON document of these fields."""

    unit: UnitKind
    """What the players are."""
    definition: str
    """How a value came about: `replay`, `mask`, `default`, `critic`..., in words."""
    values: tuple[CoalitionValue, ...]
    model_calls: int = 0
    """Calls of a model that the table took."""


def decode_coalitions(document: bytes) -> CoalitionValues:
    """A JSON document as a table of coalition values.

    Raises:
      InputError: it is none, a value is not finite, or a coalition stands twice.
    """
    example = '{"unit": "agent", "definition": "replay", "values": [{"units": ["a"], "value": 0.5}, ...]}'
    remedy = f"it looks like {example}"
    table = decoded(document, CoalitionValues, refusal="no table of coalition values", remedy=remedy)
    seen: set[frozenset[str]] = set()
    for i, row in enumerate(table.values):
        if not math.isfinite(row.value):
            raise InputError(f"{row.value} is not finite", place=f"$.values[{i}].value")
        if frozenset(row.units) in seen:
            raise InputError(f"the coalition {sorted(row.units)} stands twice", place=f"$.values[{i}].units")
        seen.add(frozenset(row.units))
    return table
