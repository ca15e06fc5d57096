"""gymnasium, or one clear line about how to get it."""

from orchestrace.errors import InputError

try:
    import gymnasium as gymnasium
except ModuleNotFoundError as missing:
    if missing.name != "gymnasium":
        raise
    raise InputError("this form needs gymnasium", remedy='pip install "orchestrace[gym]"') from missing

__all__ = ["gymnasium"]
