"""Where each command of the command line is, so that a start imports only the module of the command that runs."""

from importlib import import_module

import click

MODULES = {
    "compare": "compare",
    "delete": "stores.commands",
    "demo": "demo.command",
    "export": "stores.commands",
    "fork": "stores.commands",
    "import": "stores.commands",
    "inspect": "inspect.command",
    "lint": "lint",
    "mcp": "mcp.command",
    "repair": "stores.commands",
    "replay": "replay",
    "search": "stores.commands",
    "serve": "serve.command",
    "sessions": "stores.commands",
    "show": "stores.commands",
    "status": "stores.commands",
    "tune": "tune",
    "verify": "stores.commands",
    "view": "view",
}
"""The module of each command, in this package; it adds the command to the group when it is imported."""


class Commands(click.Group):
    """A group that imports the module of a command when the command is asked for.

    The modules of all commands take a quarter of the time that a start takes. Help, which lists them, imports all.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  the name is click's
        """Return the names of all commands, in order of the alphabet."""
        return sorted({*MODULES, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or `None` if there is none of this name."""
        if cmd_name in MODULES:
            import_module(f"backscroll.cli.{MODULES[cmd_name]}")
        return super().get_command(ctx, cmd_name)
