"""When to stop (O5): environments with a known optimum."""

__all__ = []
