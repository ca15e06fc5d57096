"""torch, or one clear line about how to get it."""

from orchestrace.errors import InputError

try:
    import torch as torch
except ModuleNotFoundError as missing:
    if missing.name != "torch":
        raise
    raise InputError("training needs torch", remedy='pip install "orchestrace[train]"') from missing

__all__ = ["torch"]
