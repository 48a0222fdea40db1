"""Amplifier's way into Backscroll: the module `context-backscroll`, which is `backscroll.integrations.amplifier`.

It stands beside `src`, because a module that is loaded from a folder is looked for directly below it.
"""

from backscroll.integrations.amplifier.mount import mount

__all__ = ["mount"]
__amplifier_module_type__ = "context"
