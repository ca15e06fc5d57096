"""Credit for stopping: paths, finite chains, bounds from fitted values."""

__all__ = []
