"""What any field of a trace may hold: finite numbers, zero without a sign, text that has bytes.

`Builder` refuses everything else and `Assembler` mends and counts it, so that what they make can be encoded, and equal
traces have equal bytes.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from math import inf
from sys import float_info
from typing import Any, Literal, NamedTuple, NoReturn, SupportsFloat, TypeVar

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.events import Choice, Event, EventFields, Tokens, Turn
from orchestrace.trace.surrogates import without_surrogates

E = TypeVar("E", bound=EventFields)
S = TypeVar("S", bound=msgspec.Struct)

MEASURES = ("rewards", "costs", "metrics")
"""The header's maps of numbers."""
_MAX_BITS = 14_284
"""Of an integer; of a longer one no JSON reader makes an integer again (4,300 decimal digits)."""
_NEGATIVE_ZERO = re.compile(rb"[:,\[]-0\.0[,}\]]")
_ENCODER = msgspec.json.Encoder()


class Flaw(NamedTuple):
    """What no field may hold, at one place."""

    kind: Literal["not_finite", "surrogates"]
    place: str
    problem: str
    n: int
    """How many: of half characters, each counts."""


def is_finite(number: float) -> bool:
    """Whether a float can hold the number: not NaN, not infinite, no larger integer."""
    return abs(number) <= float_info.max


def as_float(number: Any) -> Any:
    """The number as a float, zero without a sign, an integer that no float holds infinite; no number stays itself."""
    if type(number) is not float and (isinstance(number, bool) or not isinstance(number, SupportsFloat)):
        return number
    try:
        return float(number) + 0.0
    except OverflowError:
        return inf if number > 0 else -inf  # type: ignore[operator]  # integers and fractions overflow, and compare


def with_floats(event: E) -> E:
    """The same event, which nobody else has yet, its float fields floats."""
    for name in ("t", "duration_s", "usd"):
        number = getattr(event, name)
        if number is not None:
            msgspec.structs.force_setattr(event, name, as_float(number))
    choice = event.choice
    if isinstance(choice, Choice):
        choice = msgspec.structs.replace(choice, logprob=as_float(choice.logprob), value=as_float(choice.value))
        msgspec.structs.force_setattr(event, "choice", choice)
    return event


def header_with_floats(header: Mapping[str, Any]) -> dict[str, Any]:
    """A header, its maps of numbers maps of floats."""
    maps = {name: header[name] for name in MEASURES if isinstance(header.get(name), Mapping)}
    return {**header, **{name: {key: as_float(n) for key, n in map_.items()} for name, map_ in maps.items()}}


def is_sound(value: Any) -> bool:
    """False where `mended` might change the value; a quick look at how it would be written."""
    try:
        data = _ENCODER.encode(value)
    except (ValueError, TypeError):  # a lone surrogate, an integer of too many digits, no JSON at all
        return False
    # NaN and infinities are written as null, and nothing else here is; texts may hold either.
    return b"null" not in data and not (b"-0.0" in data and _NEGATIVE_ZERO.search(data))


def mended(value: Any, place: str, tell: Callable[[Flaw], None]) -> Any:
    """The value without flaws, each of which is told: lone surrogates become "?", a number that is not finite goes.

    Where a number goes, a field becomes absent, and a map loses the key. Negative zero becomes zero, and is not told.

    Args:
      value: an event, an agent, a header, a trace, or a part of one.
      place: where it stands, `$.events[3]`.
      tell: called for each flaw; it may raise.
    """
    match value:
        case str():
            text, n = without_surrogates(value)
            if n:
                tell(Flaw("surrogates", place, f"{value!r} holds half a character (a lone surrogate)", n))
            return text
        case bool():
            return value
        case float() | int():
            problem = _number_problem(value)
            if problem:
                tell(Flaw("not_finite", place, problem, 1))
                return None
            return value if isinstance(value, int) else value + 0.0
        case msgspec.Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            return msgspec.structs.replace(
                value, **{name: mended(field, f"{place}.{name}", tell) for name, field in fields.items()}
            )
        case Mapping():
            named = {mended(key, place, tell): item for key, item in value.items()}
            items = {name: mended(item, f"{place}.{name}", tell) for name, item in named.items()}
            return {name: item for name, item in items.items() if item is not None or named[name] is None}
        case tuple() | list():
            parts = [mended(item, f"{place}[{n}]", tell) for n, item in enumerate(value)]
            return None if None in parts and None not in value else type(value)(parts)
        case _:
            return value


def _number_problem(number: float) -> str:
    if isinstance(number, int):
        return "the integer has too many digits" if number.bit_length() > _MAX_BITS else ""
    return "" if is_finite(number) else f"{number} is not finite"


def sound(value: S, place: str, *, event: str | None = None) -> S:
    """The struct as it will be read again: every field of its type, lists tuples.

    Args:
      value: an event, an agent, an edge, a header.
      place: where it stands.
      event: an id for the message; absent: it is no event.

    Raises:
      TraceError: a field holds something else than it should; names the place.
    """
    said = "" if event is None else f", event {event!r}"

    def refuse(flaw: Flaw) -> NoReturn:
        raise TraceError(f"{flaw.problem} (law 0{said})", place=flaw.place)

    if not is_sound(value):
        value = mended(value, place, refuse)
    try:
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        read = msgspec.convert(plain, type(value), builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        problem, _, at = str(error).partition(" - at `$")
        raise TraceError(f"{problem} (law 0{said})", place=place + at.rstrip("`")) from None
    except TypeError as error:  # an object that JSON has no form for
        raise TraceError(f"{error} (law 0{said})", place=place) from None
    if read != value:
        for problem, at in _other_types(value, read, place):
            raise TraceError(f"{problem} (law 0{said})", place=at)
    return read


def _other_types(given: Any, read: Any, place: str) -> Iterator[tuple[str, str]]:
    """Plain objects where structs belong, which msgspec reads as such: (problem, place)."""
    match read:
        case msgspec.Struct():
            if type(given) is not type(read):
                yield f"Expected `{type(read).__name__}`, got `{type(given).__name__}`", place
                return
            for name in read.__struct_fields__:
                yield from _other_types(getattr(given, name), getattr(read, name), f"{place}.{name}")
        case Mapping():
            for name, item in read.items():
                yield from _other_types(given[name], item, f"{place}.{name}")
        case tuple():
            for n, (one, other) in enumerate(zip(given, read, strict=True)):
                yield from _other_types(one, other, f"{place}[{n}]")


def out_of_range(event: Event) -> Iterator[tuple[str, str]]:
    """The fields of an event that hold what cannot be: (path, message)."""
    yield from ((name, f"{number} is not finite") for name, number in _numbers(event) if not is_finite(number))
    if event.duration_s is not None and event.duration_s < 0:
        yield "duration_s", f"{event.duration_s} is negative"
    if event.token_span is not None and not 0 <= event.token_span[0] <= event.token_span[1]:
        yield "token_span", f"{list(event.token_span)} is no span [start, end)"
    if event.content is not None and event.content.bytes < 0:
        yield "content.bytes", f"{event.content.bytes} is negative"
    choice = event.choice
    if choice is not None:
        if not 0 <= choice.chosen < len(choice.options):
            yield "choice.chosen", f"{choice.chosen} is no index into {len(choice.options)} options"
        if choice.legal is not None and len(choice.legal) != len(choice.options):
            yield "choice.legal", f"it has {len(choice.legal)} entries for {len(choice.options)} options"
    if isinstance(event, Turn) and event.tokens is not None:
        yield from _tokens_out_of_range(event.tokens)


def _numbers(event: Event) -> Iterator[tuple[str, float]]:
    """Every number of an event that may be infinite or NaN, by its path."""
    for name in ("t", "duration_s", "usd"):
        number = getattr(event, name)
        if number is not None:
            yield name, number
    if event.choice is not None:
        for name in ("logprob", "value"):
            number = getattr(event.choice, name)
            if number is not None:
                yield f"choice.{name}", number
    for name, value in event.labels.items():
        if isinstance(value, float):
            yield f"labels.{name}", value
    if isinstance(event, Turn) and event.generation is not None:
        for name, value in event.generation.sampling.items():
            if isinstance(value, float):
                yield f"generation.sampling.{name}", value


def _tokens_out_of_range(tokens: Tokens) -> Iterator[tuple[str, str]]:
    for name in tokens.__struct_fields__:
        n = getattr(tokens, name)
        if n is not None and n < 0:
            yield f"tokens.{name}", f"{n} is negative"
    if tokens.reasoning is not None and tokens.output is not None and tokens.reasoning > tokens.output >= 0:
        yield "tokens.reasoning", f"{tokens.reasoning} is more than the output of {tokens.output}"
