"""The one place where environment variables are read."""

import os
from pathlib import Path


def claude_projects() -> Path:
    """Where Claude Code keeps its sessions: `$CLAUDE_CONFIG_DIR/projects`, else `~/.claude/projects`."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(folder) if folder else Path.home() / ".claude") / "projects"


def asks_for_a_width() -> bool:
    """Whether `$COLUMNS` says how wide lines may be."""
    return os.environ.get("COLUMNS", "").isdigit()


def store_path() -> Path:
    """The store: `$ORCHESTRACE_STORE`, else `orchestrace.db` in the user's data folder."""
    named = os.environ.get("ORCHESTRACE_STORE")
    if named:
        return Path(named)
    from platformdirs import user_data_path

    return user_data_path("orchestrace", appauthor=False) / "orchestrace.db"
