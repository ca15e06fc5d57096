"""Credit along a sequence: returns, redistribution, shaping, balance over spans."""

__all__ = []
