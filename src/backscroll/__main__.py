"""`python -m backscroll`: the same as the command `backscroll`."""

import sys

from backscroll.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
