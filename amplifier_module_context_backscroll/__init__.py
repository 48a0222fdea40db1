"""Amplifier's way into Backscroll: the module `context-backscroll`. All of it is in `backscroll.adapters.amplifier`.

It stands beside `src`, because a module that is loaded from a folder is looked for directly below it.
"""

from backscroll.adapters.amplifier.mounting import mount

__all__ = ["mount"]
__amplifier_module_type__ = "context"
