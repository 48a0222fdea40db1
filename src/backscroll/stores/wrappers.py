"""From options to the layers around a store. Nothing else may live here.

Encryption is outside: what is offloaded is encrypted already.
"""

from pathlib import Path

from backscroll.errors import ConfigurationError
from backscroll.ports import Blobs, Store
from backscroll.stores.blobs.addresses import open_blobs
from backscroll.stores.blobs.offloading import OVER, OffloadingStore, Report, checked_over
from backscroll.stores.encryption import EncryptedStore

__all__ = ["OVER", "Report", "layered"]


def layered(
    store: Store | None,
    blobs: str | Path | Blobs | None,
    over: int,
    key: bytes | str | None,
    on_failure: Report | None = None,
) -> Store | None:
    """A store with what is asked for around it; None where nothing is to be kept. Touches nothing.

    Raises `ConfigurationError` for what can never work, or goes with no store.
    """
    checked_over(over)
    if store is None:
        for name, value in (("blobs", blobs), ("encryption_key", key)):
            if value is not None:
                raise ConfigurationError(
                    f'`{name}` is about what a store keeps, and there is none: give a store too, store="sqlite:///agent.db"'
                )
        return None
    if blobs is not None:
        store = OffloadingStore(store, open_blobs(blobs), over, on_failure=on_failure)
    return store if key is None else EncryptedStore(store, key)
