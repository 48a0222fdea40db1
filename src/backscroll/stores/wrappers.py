"""Put the layers that options ask for around a store.

Encryption is the outer layer, so that blobs are encrypted too.
"""

from typing import TYPE_CHECKING

from backscroll.errors import ConfigurationError
from backscroll.ports import Store
from backscroll.stores.options import StorageOptions

if TYPE_CHECKING:
    from backscroll.stores.blobs.offloading import Report


def layered(store: Store | None, options: StorageOptions, on_failure: "Report | None" = None) -> Store | None:
    """Return a store with the layers of `options` around it. Opens nothing.

    Args:
        store: the store to wrap. `None`: nothing is stored.
        options: blobs and encryption.
        on_failure: called when a body could not be put into the blob store.

    Raises:
        ConfigurationError: an option can never work, or requires a store where there is none.
    """
    blobs, key = options.blob_store, options.encryption_key
    if store is None:
        for name, value in (("blob_store", blobs), ("encryption_key", key)):
            if value is not None:
                raise ConfigurationError(f'`{name}` requires a store: pass store="sqlite:///agent.db" too')
        return None
    if blobs is not None:
        from backscroll.stores.blobs.addresses import open_blobs  # noqa: PLC0415  few need it
        from backscroll.stores.blobs.offloading import OffloadingStore  # noqa: PLC0415

        over = options.blob_threshold_bytes
        store = OffloadingStore(store, open_blobs(blobs), over, on_failure=on_failure)
    if key is None:
        return store
    from backscroll.stores.encryption import EncryptedStore  # noqa: PLC0415  few need it

    return EncryptedStore(store, key)
