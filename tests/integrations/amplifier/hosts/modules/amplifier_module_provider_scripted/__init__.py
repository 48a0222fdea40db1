"""The scripted model, as a module that hosts load from a folder."""

from tests.integrations.amplifier.hosts.stage import mount_provider as mount

__all__ = ["mount"]
__amplifier_module_type__ = "provider"
