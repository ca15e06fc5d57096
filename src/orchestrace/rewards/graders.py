"""How right an answer is: numbers in [0, 1] from two texts, two sets of items, or two numbers."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isclose

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Lower case, without punctuation, articles and runs of white space: how SQuAD's script reads an answer.

    Departures: none known. It takes "-5" for "5" and "1.5" for "15": compare numbers with `numeric`.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact(answer: str, references: Sequence[str]) -> float:
    """1 where the normalised answer equals one of the references, else 0. Source: SQuAD (arXiv 1606.05250).

    Raises:
      ValueError: there is no reference.
    """
    return float(normalised(answer) in {normalised(reference) for reference in _some(references)})


def token_f1(answer: str, references: Sequence[str]) -> float:
    """The greatest F1 between the words of the answer and of a reference, each word as often as it stands.

        F1 = 2·P·R / (P + R),     P = common / words of the answer,     R = common / words of the reference

    Where one of the two has no word, 1 if both have none, else 0. Source: SQuAD (arXiv 1606.05250).

    Raises:
      ValueError: there is no reference.
    """
    said = normalised(answer).split()
    return max(_words_f1(said, normalised(reference).split()) for reference in _some(references))


def item_f1(answer: Iterable[object], reference: Iterable[object]) -> float:
    """F1 between two sets of items: entries of a list, or `cells` of a table.

        F1 = 2·|A ∩ R| / (|A| + |R|);     1 where both are empty

    Source: the item-level F1 of WideSearch (arXiv 2508.07999), with equality where it asks a model.
    """
    said, right = frozenset(answer), frozenset(reference)
    return 2 * len(said & right) / (len(said) + len(right)) if said or right else 1.0


def cells(table: Iterable[Mapping[str, str]], *, key: Sequence[str]) -> frozenset[tuple[object, ...]]:
    """A table as items: each cell with its column and its row's key, so that rows align by key.

    Case and runs of white space make no difference; punctuation does, since cells hold numbers.

    Args:
      table: rows, each column -> text.
      key: the columns that name a row; a row that lacks one has an empty text in its place.
    """
    found = set()
    for row in table:
        clean = {_cell(column): _cell(text) for column, text in row.items()}
        name = tuple(clean.get(_cell(column), "") for column in key)
        found |= {(name, column, text) for column, text in clean.items()}
    return frozenset(found)


def numeric(answer: str, reference: float, *, relative: float = 0.0, absolute: float = 1e-6) -> float:
    """1 where the answer is a number within the tolerance of the reference, else 0.

        |answer − reference| ≤ max(relative · max(|answer|, |reference|), absolute)

    Commas are dropped ("1,200"); what is no number then is wrong.
    """
    try:
        said = float(answer.replace(",", ""))
    except ValueError:
        return 0.0
    return float(isclose(said, reference, rel_tol=relative, abs_tol=absolute))


def _cell(text: str) -> str:
    return " ".join(text.lower().split())


def _words_f1(said: Sequence[str], right: Sequence[str]) -> float:
    if not said or not right:
        return float(said == right)
    common = sum((Counter(said) & Counter(right)).values())
    return 2 * common / (len(said) + len(right))


def _some(references: Sequence[str]) -> Sequence[str]:
    if isinstance(references, str) or not references:
        raise ValueError(f"references is {references!r}; it must be a list of one reference or more")
    return references
