"""What calls of tools did, read from their arguments and results: a deed for each thing that changed the world.

- `deed.py`          a deed: its kind, its target, and how it ended
- `kinds.py`         what a call did, by its arguments first and by its name second
- `texts.py`         the ends of a long text, and its beginning in one line
- `arguments.py`     arguments that may be cut off or no JSON, and the names by which hosts call the same things
- `frames.py`        the frames that hosts put around results, as data
- `envelopes.py`     a result without its frame, its exit code, and the run that goes on behind it
- `ending.py`        how a call ended; `outcomes.py` reads it from a result, in one line
- `check_results.py` how tests, linters and builds ended
- `edits.py`         calls that change files
- `patches.py`       patches and blocks that search and replace, file by file
- `names.py`         the functions, types and constants that code defines
- `key_lines.py`     the lines of code with values, messages, reasons and conditions
- `commands.py`      the deeds of a shell command
- `check_commands.py` steps of it that test, lint or build
- `file_commands.py` steps of it that write, change or delete files
- `file_moves.py`    steps of it that move files, or put them back to what was committed
- `folders.py`       where each step of it runs
- `shell.py`         a shell command as its steps
- `reading.py`       whether a step of it only reads
- `programs.py`      command line programs that read, wrap others, or check, as data
- `commits.py`       commits and pushes
- `background.py`    runs that go on behind their call
- `talks.py`         questions to the user, plans, delegated tasks and to-do lists
- `refusals.py`      what the user refused
- `verbs.py`         verbs in names of tools
- `listings.py`      whether the result of an unknown tool lists something
"""

from backscroll.messages.deed_kind import DeedKind
from backscroll.messages.deeds.deed import Deed
from backscroll.messages.deeds.envelopes import without_envelope
from backscroll.messages.deeds.kinds import deeds_of, ended_runs

__all__ = ["Deed", "DeedKind", "deeds_of", "ended_runs", "without_envelope"]
