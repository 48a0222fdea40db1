"""From an address to a place for blobs. Nothing else may live here.

blobs, /var/lib/blobs                                   a folder, from the working directory or the root
s3://bucket/prefix                                      a bucket of Amazon's
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
    """The place of an address; a `BlobStore` is its own. Touches nothing.

    Raises `ConfigurationError` for an address that names nothing known.
    """
    if isinstance(address, Path):
        return FolderBlobs(address)
    if not isinstance(address, str):
        missing = [name for name in ("put", "get", "delete", "names") if not callable(getattr(address, name, None))]
        if missing:
            raise ConfigurationError(f"{type(address).__name__} keeps no blobs: it has no {', '.join(missing)}")
        return address
    scheme, separator, _ = address.partition("://")
    if not separator:
        return FolderBlobs(address)
    if scheme != "s3":
        raise ConfigurationError(f"{address!r} names no place for blobs; known are {' and '.join(KNOWN)}")
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = options.keys() - {"endpoint", "region"}
    if unknown or parts.fragment or "@" in parts.netloc:
        told = f"the option {min(unknown)!r}" if unknown else "a part that is not known"
        raise ConfigurationError(f"an address of blobs in S3 has {told}; it is of the form {KNOWN[1]}")
    return S3Blobs(parts.netloc, unquote(parts.path), **{name: value or None for name, value in options.items()})
