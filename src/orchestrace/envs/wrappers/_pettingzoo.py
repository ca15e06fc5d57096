"""pettingzoo, or one clear line about how to get it."""

from orchestrace.errors import InputError

try:
    import pettingzoo as pettingzoo
except ModuleNotFoundError as missing:
    if missing.name != "pettingzoo":
        raise
    raise InputError("this form needs pettingzoo", remedy='pip install "orchestrace[gym]"') from missing

__all__ = ["pettingzoo"]
