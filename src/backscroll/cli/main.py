"""The entry point of the command line. Only starting and stopping may live here: it must import without extras."""

import sys
from collections.abc import Sequence

_EXTRA = ("click", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `backscroll` with `arguments` (default: those of the process) and return the exit code.

    2 with one line on standard error where the packages of the extra `backscroll[cli]` are missing, which `--version`
    does not need.
    """
    if list(sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        from backscroll import __version__  # noqa: PLC0415  it is looked up

        sys.stdout.write(f"backscroll, version {__version__}\n")
        return 0
    try:
        import click  # noqa: PLC0415  the extra may be missing, and that is found out here

        from backscroll.cli import compare, replay, view  # noqa: F401, PLC0415  each adds its command to the group
        from backscroll.cli.group import app  # noqa: PLC0415  needs the extra as well
        from backscroll.cli.inspect import command  # noqa: F401, PLC0415  as above
        from backscroll.cli.stores import commands  # noqa: F401, PLC0415  as above
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
