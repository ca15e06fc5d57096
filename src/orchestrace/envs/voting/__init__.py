"""What voting environments share: the rules, strong hand-made policies, the environment, its traces."""

__all__ = []
