"""Blobs in a bucket that speaks S3, by `obstore` (extra `s3`). Only its calls and their faults may live here.

Credentials come from where obstore finds them: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` in the environment, or
the role of the machine. An address holds none, so that it can be printed.
"""

import importlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from backscroll.errors import ConfigurationError, CorruptionError, StoreUnavailableError
from backscroll.ports import BlobInfo
from backscroll.stores.names import checked_blob, is_blob

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_REFUSED = re.compile(r"status code: 40[13]\b")
_CONNECTING, _CALL = "5s", "300s"
_RETRIES = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}


class S3Blobs:
    """Blobs in `bucket`, below `prefix`.

    `endpoint`: of a service that is not Amazon's; plain `http` only on this machine. `region`: else `AWS_REGION`, or
    what the service takes without one. `options`: further ones of obstore's `S3Store`. The bucket must be there.
    """

    def __init__(
        self,
        bucket: str,
        prefix: str = "",
        *,
        endpoint: str | None = None,
        region: str | None = None,
        **options: Any,
    ) -> None:
        if not _BUCKET.fullmatch(bucket):
            raise ConfigurationError(f"{bucket!r} names no bucket: 3 to 63 small letters, digits, dots and hyphens do")
        self._prefix = _checked_prefix(prefix)
        self._place = f"s3://{bucket}/{self._prefix}" + (f" at {endpoint}" if endpoint else "")
        self._api = _api()
        plain = endpoint is not None and _is_plain(endpoint)
        given = {"endpoint": endpoint, "region": region}
        client = {"connect_timeout": _CONNECTING, "timeout": _CALL, "allow_http": plain}
        settings = {"client_options": client, "retry_config": _RETRIES} | options
        settings |= {name: value for name, value in given.items() if value is not None}
        try:
            self._store = importlib.import_module("obstore.store").S3Store(bucket, **settings)
        except Exception as error:  # obstore's own errors share no class of their own with its refusals
            raise ConfigurationError(f"{self._place}: obstore refuses it: {error!s:.300}") from error

    def __repr__(self) -> str:
        return f"S3Blobs({self._place!r})"

    def put(self, name: str, data: bytes) -> None:
        """Puts an object and returns when the service has it. One that is there already stays as it is."""
        key = self._key(name)
        with self._told(name):
            try:
                self._api.put(self._store, key, data, mode="create")
            except self._errors("AlreadyExistsError"):
                return

    def get(self, name: str) -> bytes:
        """What an object holds."""
        key = self._key(name)
        with self._told(name):
            return bytes(self._api.get(self._store, key).bytes())

    def delete(self, name: str) -> None:
        """Deletes an object. Old versions stay where the bucket keeps versions."""
        key = self._key(name)
        with self._told(name):
            try:
                self._api.delete(self._store, key)
            except FileNotFoundError:
                return

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        """All objects whose names begin with this."""
        below = [self._prefix, prefix.partition("-")[0]] if "-" in prefix else [self._prefix]
        pages = iter(self._api.list(self._store, prefix="/".join(filter(None, below)) or None))
        while True:
            with self._told(f"{prefix}*"):
                page = next(pages, None)
            if page is None:
                return
            now = datetime.now(UTC)
            for found in page:
                name = found["path"].rpartition("/")[2]
                if name.startswith(prefix) and is_blob(name) and found["path"] == self._key(name):
                    yield BlobInfo(name, max((now - found["last_modified"]).total_seconds(), 0.0))

    def _key(self, name: str) -> str:
        """Names that begin alike, up to a hyphen, lie together: a service lists by what stands before a slash."""
        return "/".join(filter(None, (self._prefix, checked_blob(name).partition("-")[0], name)))

    def _errors(self, name: str) -> Any:
        return getattr(importlib.import_module("obstore.exceptions"), name)

    @contextmanager
    def _told(self, name: str) -> Iterator[None]:
        """Whatever goes wrong inside is raised as one of Backscroll's errors."""
        try:
            yield
        except (self._errors("BaseError"), OSError) as error:
            if "NoSuchBucket" in str(error):  # not always told by the class of the error, as what follows
                raise StoreUnavailableError(
                    f"the blob {name}: there is no bucket for {self!r}: make it first"
                ) from error
            if isinstance(error, FileNotFoundError):
                raise CorruptionError(f"the blob {name} is missing in {self!r}") from error
            if _REFUSED.search(str(error)):
                raise StoreUnavailableError(
                    f"the blob {name}: {self!r} refuses these credentials: look at AWS_ACCESS_KEY_ID, "
                    f"AWS_SECRET_ACCESS_KEY and what they may do ({error!s:.200})"
                ) from error
            raise StoreUnavailableError(f"the blob {name} in {self!r}: {error!s:.300}") from error


def _api() -> Any:
    try:
        return importlib.import_module("obstore")
    except ImportError as error:
        raise ConfigurationError("blobs in s3:// need obstore: pip install 'backscroll[s3]'") from error


def _checked_prefix(prefix: str) -> str:
    clean = prefix.strip("/")
    if any(part in ("", ".", "..") for part in clean.split("/")) and clean:
        raise ConfigurationError(f"the prefix {prefix!r} has an empty part, or one of dots")
    return clean


def _is_plain(endpoint: str) -> bool:
    """Whether an endpoint is without TLS. Raises `ConfigurationError` for one of another machine."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise ConfigurationError(f"the endpoint {endpoint!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"the endpoint {endpoint!r} is not of the form https://host or http://127.0.0.1:port")
    if parts.username or parts.password:
        raise ConfigurationError("an endpoint holds no credentials: they come from AWS_ACCESS_KEY_ID and its like")
    if parts.scheme == "http" and not _is_here(host):
        raise ConfigurationError(f"the endpoint {endpoint!r} would send everything without TLS: use https")
    return parts.scheme == "http"


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
