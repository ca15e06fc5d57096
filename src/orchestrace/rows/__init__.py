"""Training rows: a trace and its credit as what a trainer reads."""

__all__ = []
