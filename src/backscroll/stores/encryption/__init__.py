"""A layer that encrypts all records.

- `store.py`: the encrypting store
- `sealing.py`: keys, and the cryptography
"""

from backscroll.stores.encryption.store import EncryptedStore

__all__ = ["EncryptedStore"]
