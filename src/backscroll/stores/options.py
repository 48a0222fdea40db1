"""Options for what surrounds a store: blobs and encryption."""

from dataclasses import dataclass, field
from pathlib import Path

from backscroll.errors import ConfigurationError
from backscroll.ports import BlobStore

OVER = 65_536  # bytes


def checked_over(over: int) -> int:
    """Validate a size in bytes. Raise `ConfigurationError` if it is not a whole number of at least 0."""
    if type(over) is not int or over < 0:
        raise ConfigurationError(
            f"`blob_threshold_bytes` must be a whole number of bytes, at least 0, not {over!r:.80}"
        )
    return over


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """Where large messages are kept, and how records are encrypted.

    Raises:
        ConfigurationError: a value can never work.
    """

    blob_store: str | Path | BlobStore | None = None
    """Where messages above the threshold are kept: a folder, `"s3://bucket/prefix"` or a `BlobStore`. `None`: in the
    store, like all others.
    """
    blob_threshold_bytes: int = OVER
    """Stored size in bytes, 0 or more. Messages above it go to `blob_store`."""
    encryption_key: bytes | str | None = field(default=None, repr=False)
    """32 bytes, or their base64 text. Encrypts everything that is stored. `None`: no encryption."""

    def __post_init__(self) -> None:
        """Check the types. The place behind a name is checked when it is opened."""
        checked_over(self.blob_threshold_bytes)
        blobs, methods = self.blob_store, ("put", "get", "delete", "names")
        known = blobs is None or isinstance(blobs, str | Path)
        if not known and (isinstance(blobs, type) or not all(callable(getattr(blobs, name, None)) for name in methods)):
            raise ConfigurationError(
                "`blob_store` must be a folder, an address such as 's3://bucket/prefix', or a BlobStore, not "
                f"{blobs!r:.80}"
            )
        if not isinstance(self.encryption_key, str | bytes | None):
            kind = type(self.encryption_key).__name__
            raise ConfigurationError(
                f"`encryption_key` must be 32 bytes, or these as base64 text, or None, not a {kind}"
            )
