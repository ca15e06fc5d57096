"""Claude Code session logs (`~/.claude/projects`), every layout from 1.0 to 2.1.

Reading order: `records` (one record, narrowly), `steps` (what a file says, reduced), `markup`, `uses`, `results` (its
texts and blocks), `session`, `said`, `heard`, `reduce` (a file into steps), `layout` (files into sessions), `link` (who
made whom), `cast` (who is who), `stage`, `speech`, `outcomes`, `emit` (steps into events), `importing` (all of it).
"""

from orchestrace.adapters.claude_code.importing import MAX_TEXT, NAME, VERSION, detect, read

__all__ = ["MAX_TEXT", "NAME", "VERSION", "detect", "read"]
