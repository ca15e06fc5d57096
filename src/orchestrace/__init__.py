"""Reinforcement learning for teams of LLM agents, on the traces they leave.

The subpackages are the chapters; import them by name. Meaning: `trace`, `metrics`, `report`. Effects: `adapters`,
`envs`, `training`, `viewer`, `cli`, `testing`. This module offers the trace and the errors alone, and loads no numpy.
"""

from orchestrace.errors import InputError, OrchestraceError, TraceError
from orchestrace.trace import Builder, Trace, decode, digest, encode, violations

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "InputError",
    "OrchestraceError",
    "Trace",
    "TraceError",
    "__version__",
    "decode",
    "digest",
    "encode",
    "violations",
]
