"""The entry point of the command line. It imports without the packages of extras."""

import sys
from collections.abc import Sequence

_EXTRA = ("click", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `backscroll` and return the exit code.

    Without the packages of the extra `backscroll[cli]`, which `--version` does not need, it prints one line to standard
    error and returns 2.

    Args:
        arguments: The arguments. `None`: those of the process.
    """
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        from backscroll import __version__  # noqa: PLC0415  reads the metadata, which is slow

        sys.stdout.write(f"backscroll, version {__version__}\n")
        return 0
    try:
        import click  # noqa: PLC0415  the extra may be missing

        from backscroll.cli.group import app  # noqa: PLC0415  needs the extra as well
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.stderr.write(f"backscroll: the package {missing!r} is missing; run: pip install 'backscroll[cli]'\n")
        return 2
    try:
        code = app.main(args=arguments, prog_name="backscroll", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        sys.stderr.write("backscroll: interrupted\n")
        return 130
    return code if isinstance(code, int) else 0


if __name__ == "__main__":
    sys.exit(main())
