"""Published methods by name: each a few lines over the small core, with its source, unit and departures.

`docs/generate.py` reads the lines `Source:` to `Departures:` of every public function here into the reference.
"""

__all__ = []
