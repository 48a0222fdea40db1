"""The names by which hosts call a file, and its whole text, among the arguments of a call."""

FILES = ("file_path", "path", "filepath", "file", "filename", "target_file", "notebook_path")
"""Names of a file, the likeliest first."""
CONTENTS = ("content", "contents", "file_text", "new_source")
"""Names of the whole text of a file."""
