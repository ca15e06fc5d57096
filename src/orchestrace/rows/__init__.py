"""Training rows: a trace and its credit as what a trainer reads.

Reading order: `tokens` (token arrays as bytes).
"""

from orchestrace.rows.tokens import MEDIA, Sampled, packed, unpacked

__all__ = ["MEDIA", "Sampled", "packed", "unpacked"]
