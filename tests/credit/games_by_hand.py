"""Textbook values of small games, in exact fractions: slow, and meant to be recognised."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import factorial

PLANNER, SEARCHER, CODER = range(3)
TEAM_OF_THREE = {(): 0, (0,): 10, (1,): 0, (2,): 20, (0, 1): 50, (0, 2): 40, (1, 2): 35, (0, 1, 2): 100}
"""Hundredths."""

DIVIDENDS = {
    (2,): 10,
    (3,): 4,
    (5,): 10,
    (0, 2): 10,
    (0, 3): 6,
    (3, 4): 6,
    (0, 5): 10,
    (2, 3): -8,
    (1, 2, 5): 16,
    (0, 1, 2, 3, 4, 5): 36,
}
"""Hundredths that each of these groups adds when all of it is there. Turns: 0 = O1 (split), 1 = O2 (merge), 2 = A1,
3 = B1, 4 = B2, 5 = C1."""

SIX_TURNS = (((0, 1),), ((2,), (3, 4)), ((5,),))
"""role > agent > turn: the orchestrator O, the searchers A and B, the coder C."""


def team_of_three(coalition):
    return Fraction(TEAM_OF_THREE[tuple(sorted(coalition))], 100)


def six_turns(coalition):
    return Fraction(sum(gain for group, gain in DIVIDENDS.items() if set(group) <= set(coalition)), 100)


def subsets(players):
    players = list(players)
    return (frozenset(chosen) for size in range(len(players) + 1) for chosen in combinations(players, size))


def random_game(n, rng):
    """`rng`: a random.Random."""
    table = {coalition: Fraction(rng.randint(-50, 100), 97) for coalition in subsets(range(n))}
    return table.__getitem__


def leaves(tree):
    return (tree,) if isinstance(tree, int) else tuple(player for child in tree for player in leaves(child))


def consistent_orders(tree):
    """Every order in which each unit's leaves stand together."""
    if isinstance(tree, int):
        yield (tree,)
        return
    inside = [list(consistent_orders(child)) for child in tree]
    for places in permutations(range(len(tree))):
        for chosen in product(*[inside[k] for k in places]):
            yield tuple(player for part in chosen for player in part)


def linear_extensions(n, precedence):
    """Every order of 0..n−1 in which a stands before b for all (a, b) of `precedence`."""
    for order in permutations(range(n)):
        if all(order.index(a) < order.index(b) for a, b in precedence):
            yield order


def mean_marginals(orders, value):
    """Each player's marginal contribution, averaged over the orders: the definition of all values of this kind."""
    orders = list(orders)
    total = dict.fromkeys(orders[0], Fraction(0))
    for order in orders:
        before = frozenset()
        for player in order:
            total[player] += value(before | {player}) - value(before)
            before |= {player}
    return {player: credit / len(orders) for player, credit in total.items()}


def shapley_by_hand(n, value):
    """φ_i = Σ_S |S|! (n − |S| − 1)! / n! (v(S ∪ i) − v(S))"""
    credit = {}
    for i in range(n):
        credit[i] = Fraction(0)
        for S in subsets(set(range(n)) - {i}):
            weight = Fraction(factorial(len(S)) * factorial(n - len(S) - 1), factorial(n))
            credit[i] += weight * (value(S | {i}) - value(S))
    return credit


def banzhaf_by_hand(n, value):
    """β_i = 2^−(n−1) Σ_S (v(S ∪ i) − v(S))"""
    return {
        i: sum(value(S | {i}) - value(S) for S in subsets(set(range(n)) - {i})) * Fraction(1, 2 ** (n - 1))
        for i in range(n)
    }


def owen_by_hand(unions, value):
    """Orders in which the members of each union stand together."""
    return mean_marginals(consistent_orders(tuple(map(tuple, unions))), value)


def components(coalition, edges):
    left, found = set(coalition), []
    while left:
        part = {left.pop()}
        while grown := {y for e in edges for x, y in (e, e[::-1]) if x in part and y in left}:
            part |= grown
            left -= grown
        found.append(frozenset(part))
    return found


def myerson_by_hand(n, value, edges):
    """The Shapley value of v^g(S) = the sum of v over the connected parts of S."""
    return shapley_by_hand(n, lambda S: sum((value(part) for part in components(S, edges)), start=Fraction(0)))
