"""How to make one answer of many (O4): environments with a known optimum."""

__all__ = []
