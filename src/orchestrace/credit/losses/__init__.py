"""How advantages become a loss: ratios, clipping, the weights of tokens."""

__all__ = []
