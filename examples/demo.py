"""`backscroll demo` over this tree: what `make demo` runs. The code is in `src/backscroll/cli/demo`.

python examples/demo.py FOLDER
"""

import sys
from pathlib import Path

from backscroll.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["demo", *sys.argv[1:], "--root", str(Path(__file__).resolve().parent.parent)]))
