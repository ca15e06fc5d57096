"""Rows against the others of their group: baselines, ranks, anchors, siblings."""

__all__ = []
