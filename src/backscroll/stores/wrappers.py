"""From options to the layers around a store. Nothing else may live here.

Encryption is outside: what is offloaded is encrypted already.
"""

from backscroll.errors import ConfigurationError
from backscroll.ports import Store
from backscroll.stores.blobs.addresses import open_blobs
from backscroll.stores.blobs.offloading import OVER, OffloadingStore, Report
from backscroll.stores.encryption import EncryptedStore
from backscroll.stores.options import StorageOptions

__all__ = ["OVER", "Report", "layered"]


def layered(store: Store | None, options: StorageOptions, on_failure: Report | None = None) -> Store | None:
    """A store with what is asked for around it; None where nothing is to be kept. Touches nothing.

    Raises `ConfigurationError` for what can never work, or goes with no store.
    """
    blobs, key = options.blob_store, options.encryption_key
    if store is None:
        for name, value in (("blob_store", blobs), ("encryption_key", key)):
            if value is not None:
                raise ConfigurationError(f'`{name}` requires a store: pass store="sqlite:///agent.db" too')
        return None
    if blobs is not None:
        over = options.blob_threshold_bytes
        store = OffloadingStore(store, open_blobs(blobs), over, on_failure=on_failure)
    return store if key is None else EncryptedStore(store, key)
