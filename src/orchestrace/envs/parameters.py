"""What an environment may be set to."""

import math
from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

from orchestrace.errors import RecipeError


class Parameter(NamedTuple):
    """One setting of an environment."""

    default: float
    low: float
    high: float
    """Values in [low, high] are accepted."""
    about: str
    whole: bool = False
    """True: whole numbers only."""


def complete(settings: Mapping[str, float], parameters: Mapping[str, Parameter]) -> dict[str, float]:
    """Every parameter's value, in the order of `parameters`: what `settings` gives, else the default.

    Raises:
      RecipeError: a key is not known, or a value is no number in the range.
    """
    for key in settings:
        if key not in parameters:
            raise RecipeError("there is no such setting", place=key, remedy=nearest(key, parameters))
    return {key: _checked(key, settings.get(key, known.default), known) for key, known in parameters.items()}


def nearest(name: str, known: Mapping[str, object]) -> str:
    """A remedy for a wrong name: the nearest known one, or all of them."""
    close = get_close_matches(name, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(known)}"


def _checked(key: str, value: object, known: Parameter) -> float:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    if known.low <= number <= known.high and not (known.whole and number % 1):  # NaN is in no range
        return int(number) if known.whole else float(number)
    kind = "a whole number" if known.whole else "a number"
    raise RecipeError(f"{value!r:.40} is not {kind} from {known.low:g} to {known.high:g} ({known.about})", place=key)
