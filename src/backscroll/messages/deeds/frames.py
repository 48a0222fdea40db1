"""The frames that hosts put around results, and how they say that the user refused: data, one row each with its host.

`tests/messages/deeds/frame_examples.json` has a line for each row. A new host needs a row here, a line there, and no
code.
"""

from typing import Literal, NamedTuple

Form = Literal["line", "file", "exit", "running", "id", "over", "lead"]


class ResultFrame(NamedTuple):
    """One way in which a host frames what a tool returned."""

    host: str
    form: Form
    """`line`: a line that says nothing of the result. `file`: a line with its file. `exit`: a line with the exit code.
    `running`: a line with the id of a run that goes on, or a word if it has none. `id`: a line with its id.
    `over`: a line that says that a run ended or was ended. `lead`: words before the result on one line.
    """
    pattern: str
    """What matches a whole line, of `lead` its beginning."""
    source: str
    """Where the shape is from."""


_CLAUDE = "Claude Code"
_RECORDED = "recorded sessions"
_WRITTEN = "the host's sources"

FRAMES = (
    ResultFrame(_CLAUDE, "exit", r"Exit code:? (-?\d+)", _RECORDED),
    ResultFrame(_CLAUDE, "line", r"Shell cwd was reset to .*", _RECORDED),
    ResultFrame(_CLAUDE, "line", r"</?tool_use_error>", _RECORDED),
    ResultFrame(_CLAUDE, "lead", r"<tool_use_error>", _RECORDED),
    ResultFrame(_CLAUDE, "line", r"<(retrieval_status|task_id|task_type|timestamp|tool_use_id)>[^<]*</\1>", _RECORDED),
    ResultFrame(_CLAUDE, "running", r"<status>(running)</status>", _RECORDED),
    ResultFrame(_CLAUDE, "over", r"<status>(?:completed|failed|killed|stopped)</status>", _RECORDED),
    ResultFrame(_CLAUDE, "exit", r"<exit_code>(-?\d+)</exit_code>", _WRITTEN),
    ResultFrame(_CLAUDE, "line", r"</?(?:output|stdout|stderr)>", _RECORDED),
    ResultFrame(_CLAUDE, "lead", r"<(?:output|stdout|stderr)>", _WRITTEN),
    ResultFrame(_CLAUDE, "running", r"Command running in background with ID: (\w+)\b.*", _WRITTEN),
    ResultFrame(_CLAUDE, "running", r"Async agent (launched) successfully\..*", _RECORDED),
    ResultFrame(_CLAUDE, "id", r"agentId: (\w+)(?: \(.*)?", _RECORDED),
    ResultFrame(_CLAUDE, "line", r"<usage>total_tokens: \d+|tool_uses: \d+|duration_ms: \d+</usage>", _RECORDED),
    ResultFrame(_CLAUDE, "over", r"Successfully (?:killed|stopped) (?:shell|task): .*", _WRITTEN),
    ResultFrame("Codex", "line", r"Chunk ID: \w+", _RECORDED),
    ResultFrame("Codex", "line", r"Wall time: [\d.]+ seconds", _RECORDED),
    ResultFrame("Codex", "line", r"Original token count: \d+", _RECORDED),
    ResultFrame("Codex", "line", r"Total output lines: \d+", _WRITTEN),
    ResultFrame("Codex", "exit", r"Process exited with code (-?\d+)", _RECORDED),
    ResultFrame("Codex", "running", r"Process running with session ID (\d+)", _RECORDED),
    ResultFrame("Codex", "line", r"Output:", _RECORDED),
    ResultFrame("OpenCode", "line", r"<(path|type)>[^<]*</\1>", _RECORDED),
    ResultFrame("OpenCode", "line", r"</?(?:content|entries|file|bash_metadata)>", _RECORDED),
    ResultFrame("OpenCode", "line", r"\((?:End of file|Showing lines|\d+ entries|File has more lines).*\)", _RECORDED),
    ResultFrame("OpenCode", "line", r"Use 'offset' .* to (?:continue|read .*)\.?", _WRITTEN),
    ResultFrame("Copilot CLI", "exit", r"<shellId: \w+ completed with exit code (-?\d+)>", _RECORDED),
    ResultFrame("Copilot CLI", "exit", r"<exited with exit code (-?\d+)>", _WRITTEN),
    ResultFrame("Copilot CLI", "running", r"<command started in background with shellId: (\w+)>", _WRITTEN),
    ResultFrame("Copilot CLI", "running", r"<command with shellId: (\w+) is still running.*>", _WRITTEN),
    ResultFrame("Copilot CLI", "over", r"<command with id: \w+ stopped>", _RECORDED),
    ResultFrame("Copilot CLI", "over", r"shellId: \w+ was already stopped\b.*", _RECORDED),
    ResultFrame("Gemini CLI", "line", r"(?:Command|Directory|Process Group PGID): .*", _WRITTEN),
    ResultFrame("Gemini CLI", "line", r"(?:Signal|Stderr|Error): \((?:none|empty)\)", _WRITTEN),
    ResultFrame("Gemini CLI", "exit", r"Exit Code: (-?\d+)", _WRITTEN),
    ResultFrame("Gemini CLI", "line", r"(?:Exit Code|Background PIDs): \(none\)", _WRITTEN),
    ResultFrame("Gemini CLI", "running", r"Background PIDs: (\d+)\b.*", _WRITTEN),
    ResultFrame("Gemini CLI", "lead", r"(?:Output|Stdout): (?:\(empty\)$)?", _WRITTEN),
    ResultFrame("SWE-agent", "file", r"\[File: (.*) \(\d+ lines total\)\]", _RECORDED),
    ResultFrame("SWE-agent", "line", r"\(\d+ more lines (?:above|below)\)", _RECORDED),
    ResultFrame("SWE-agent", "line", r"\((?:Open file|Current directory): .*\)|bash-\$", _RECORDED),
    ResultFrame("mini-SWE-agent", "exit", r"<returncode>(-?\d+)</returncode>", _WRITTEN),
    ResultFrame("OpenHands", "exit", r"\[(?:The command completed|Command finished) with exit code (-?\d+)\.?\]",
                _WRITTEN),
    ResultFrame("OpenHands", "line", r"\[(?:Current working directory|Python interpreter): .*\]", _WRITTEN),
    ResultFrame("Cline", "line", r"\[\w+ for '.*'\] Result:", _WRITTEN),
    ResultFrame("Cline", "line", r"Command executed\.(?: \(exit code 0\))?", _WRITTEN),
    ResultFrame("Cline", "exit", r"Command executed with exit code (-?\d+)\.?", _WRITTEN),
    ResultFrame("Cline", "running", r"Command is (still running) in the user's terminal\..*", _WRITTEN),
    ResultFrame("AutoGen", "exit", r"The script ran, then exited with Unix exit code: (-?\d+)", _RECORDED),
    ResultFrame("AutoGen", "exit", r"exitcode: (-?\d+) \(execution (?:succeeded|failed)\)", _WRITTEN),
    ResultFrame("AutoGen", "line", r"Its output was:|Code output:", _RECORDED),
)  # fmt: skip  # a table
NUMBERS = (
    ("Claude Code", r"[ \t]*\d+(?:→|\t)", _RECORDED),
    ("OpenCode", r"\d{5}\| ", _WRITTEN),
    ("Cline", r"[ \t]*\d+ \| ", _WRITTEN),
)
"""How hosts number the lines of a file, as no other text does: host, what precedes each line, source."""
FILE_NUMBERS = (
    *NUMBERS,
    ("OpenCode", r"\d+: ?", _RECORDED),
    ("Copilot CLI", r"\d+\. ?", _RECORDED),
    ("SWE-agent", r"[ \t]*\d+:", _RECORDED),
)
"""How they number them if the text is known to be a file: a list may be numbered so as well."""
REFUSALS = (
    (_CLAUDE, r"The user doesn't want to (?:proceed with this tool use|take this action)", _RECORDED),
    (_CLAUDE, r"\[Request interrupted by user", _RECORDED),
    ("Codex", r"(?:exec command|patch) rejected by user", _WRITTEN),
    ("OpenCode", r"The user rejected permission to use this specific tool call", _WRITTEN),
    ("Gemini CLI", r"\[Operation Cancelled\] Reason: User", _WRITTEN),
    ("Cline", r"The user denied this operation", _WRITTEN),
    ("others", r"(?:The )?user (?:rejected|denied|declined|refused|cancell?ed|did not (?:allow|approve)) "
     r"(?:the|this|your)\b", "their wording"),
)  # fmt: skip  # a table
"""How results begin that say that the user refused a call: host, pattern, source."""
