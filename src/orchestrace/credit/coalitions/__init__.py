"""What units are worth together: exact values, estimates, units within units."""

__all__ = []
