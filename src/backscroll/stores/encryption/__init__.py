"""A store whose records nobody can read without a key.

- `store.py`    what is kept where
- `sealing.py`  keys, and what is made with them
"""

from backscroll.stores.encryption.store import EncryptedStore

__all__ = ["EncryptedStore"]
