"""What would have been without, or instead: differences, critics, routers, words; what replays cost."""

__all__ = []
