"""Several decisions in one episode: environments with a known optimum."""

__all__ = []
