"""Record a session of real tools over this tree. The code is that of the demo, in `src/backscroll/cli/demo`.

python examples/record_session.py session.jsonl [--root FOLDER] [--tokens 120000] [--store session.db]
"""

import sys
from pathlib import Path

from backscroll.cli.demo.agent import main

if __name__ == "__main__":
    sys.exit(main(["--root", str(Path(__file__).resolve().parent.parent), *sys.argv[1:]]))
