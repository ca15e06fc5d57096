"""The bridge to traces: how units nest, what a coalition is worth, the ledger, rows and back."""

__all__ = []
