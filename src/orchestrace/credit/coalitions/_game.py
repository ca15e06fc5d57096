"""The value of coalitions: asked for once where that is right, counted, and causally closed where that is wanted."""

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from math import isfinite
from typing import Generic, TypeAlias, TypeVar

Number = TypeVar("Number", float, Fraction)
Value: TypeAlias = Callable[[frozenset[int]], Number]
"""v: the value of a coalition of players 0..n−1."""


def causally_closed(value: Value[Number], ancestors: Mapping[int, Collection[int]]) -> Value[Number]:
    """The game S ↦ v(largest part of S that holds all its ancestors): what lacks its causes counts for nothing.

    Args:
      value: v, asked for such parts only.
      ancestors: for each player who needs others, those others, direct or all; players left out need nobody.

    Raises:
      ValueError: a player is its own ancestor.
    """
    needs = {player: players_of(mask) for player, mask in all_ancestors(ancestors).items()}

    def closed(coalition: frozenset[int]) -> Number:
        return value(frozenset(player for player in coalition if needs.get(player, frozenset()) <= coalition))

    return closed


class Game(Generic[Number]):
    """v on bit masks, with a memory and a count of what was asked."""

    def __init__(
        self,
        value: Value[Number],
        count: int,
        memory: dict[int, Number],
        *,
        ancestors: Mapping[int, Collection[int]] | None,
        remember: bool = True,
    ) -> None:
        self.calls = 0
        """How often `value` was asked."""
        self._value: Value[Number] = value
        self._memory: dict[int, Number] = memory
        self._remember = remember
        self._needs = tuple((1 << player, mask) for player, mask in all_ancestors(ancestors or {}).items() if mask)
        named = {player for pair in self._needs for mask in pair for player in players_of(mask)}
        if max(named, default=-1) >= count:
            raise ValueError(f"ancestors name player {max(named)}; the tree has players 0..{count - 1}")

    def part(self, coalition: int) -> int:
        """The coalition without those whose ancestors are not all in it."""
        part = coalition
        for player, needed in self._needs:
            if needed & ~coalition:
                part &= ~player
        return part

    def __call__(self, coalition: int) -> Number:
        part = self.part(coalition) if self._needs else coalition
        if part in self._memory:
            return self._memory[part]
        players = players_of(part)
        found = self._value(players)
        self.calls += 1
        if not isinstance(found, int | Fraction):
            found = float(found)
        if not isfinite(found):
            raise ValueError(f"v({sorted(players)}) is {found}; it must be finite")
        if self._remember:
            self._memory[part] = found
        return found


def mask_of(players: Collection[int]) -> int:
    return sum(1 << player for player in players)


def players_of(mask: int) -> frozenset[int]:
    return frozenset(i for i, bit in enumerate(f"{mask:b}"[::-1]) if bit == "1")


def all_ancestors(ancestors: Mapping[int, Collection[int]]) -> dict[int, int]:
    """All ancestors of each player, as masks, from direct or all of them."""
    needs = {player: mask_of(set(direct)) for player, direct in ancestors.items()}
    for middle in needs:
        for player, mask in needs.items():
            if mask >> middle & 1:
                needs[player] = mask | needs[middle]
    for player, mask in needs.items():
        if mask >> player & 1:
            raise ValueError(f"player {player} is its own ancestor")
    return needs
