"""Rewards R1 to R8: pure functions of a trace and the evidence about it."""

__all__ = []
