"""Whether and how many to spawn (O1): environments with a known optimum."""

__all__ = []
