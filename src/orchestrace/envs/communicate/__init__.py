"""What to say, how much of it, and when (O3): environments with a known optimum."""

__all__ = []
