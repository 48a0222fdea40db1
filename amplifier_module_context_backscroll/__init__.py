"""The Amplifier module `context-backscroll`: an alias of `backscroll.integrations.amplifier`.

It lies next to `src`, because a module loaded from a folder is searched for directly in it.
"""

from backscroll.integrations.amplifier.mount import mount

__all__ = ["mount"]
__amplifier_module_type__ = "context"
