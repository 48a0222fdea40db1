"""The model's tools, as a module that hosts load from a folder."""

from tests.integrations.amplifier.hosts.stage import mount_tools as mount

__all__ = ["mount"]
__amplifier_module_type__ = "tool"
