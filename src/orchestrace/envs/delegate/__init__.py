"""Whom to delegate to (O2): environments with a known optimum."""

__all__ = []
