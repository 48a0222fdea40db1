"""Open the blob store of an address.

blobs, /var/lib/blobs                                   a folder, relative or absolute
s3://bucket/prefix                                      a bucket of Amazon S3
s3://bucket/prefix?endpoint=https://host&region=name    a bucket of another service
"""

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from backscroll.errors import ConfigurationError
from backscroll.ports import BlobStore
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.s3 import S3Blobs

KNOWN = ("a folder", "s3://bucket/prefix?endpoint=https://host&region=name")


def open_blobs(address: str | Path | BlobStore) -> BlobStore:
    """Return the blob store of an address. Opens nothing.

    Args:
        address: a folder, an `s3://` address, or a `BlobStore`, which is returned as is.

    Raises:
        ConfigurationError: the address is unknown, or the object lacks a method of a `BlobStore`.
    """
    if isinstance(address, Path):
        return FolderBlobs(address)
    if not isinstance(address, str):
        missing = [name for name in ("put", "get", "delete", "names") if not callable(getattr(address, name, None))]
        if missing:
            raise ConfigurationError(
                f"`blob_store` is a {type(address).__name__}, which lacks the methods {', '.join(missing)}"
            )
        return address
    scheme, separator, _ = address.partition("://")
    if not separator:
        return FolderBlobs(address)
    if scheme != "s3":
        raise ConfigurationError(f"`blob_store` has an unknown scheme: {address!r}; use {' or '.join(KNOWN)}")
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = options.keys() - {"endpoint", "region"}
    if unknown or parts.fragment or "@" in parts.netloc:
        reason = f"the unknown option {min(unknown)!r}" if unknown else "a fragment or credentials"
        raise ConfigurationError(f"`blob_store` has {reason}; write it as {KNOWN[1]}")
    return S3Blobs(parts.netloc, unquote(parts.path), **{name: value or None for name, value in options.items()})
