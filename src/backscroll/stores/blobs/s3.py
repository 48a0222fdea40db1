"""Blobs in an S3 bucket, through `obstore` (extra `s3`).

obstore finds credentials itself: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY` in the environment, or the role of the
machine. An address holds none, so that it can be printed.
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
    """Blobs in `bucket`, below `prefix`. The bucket must exist.

    Args:
        bucket: 3 to 63 lowercase letters, digits, dots and hyphens.
        prefix: common prefix of all object names.
        endpoint: address of a service other than Amazon's. Plain `http` only on this machine.
        region: name of the region. `None`: `AWS_REGION`, or the default of the service.
        options: further options of obstore's `S3Store`.

    Raises:
        ConfigurationError: an argument is invalid, or `obstore` is missing.
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
            raise ConfigurationError(
                f"`bucket` must have 3 to 63 lowercase letters, digits, dots and hyphens, not {bucket!r}"
            )
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
        except Exception as error:  # obstore's errors and its refusals share no class
            raise ConfigurationError(f"{self._place}: obstore rejects the options: {error!s:.300}") from error

    def __repr__(self) -> str:
        return f"S3Blobs({self._place!r})"

    def put(self, name: str, data: bytes) -> None:
        """Put an object and return when the service has stored it. An existing object is not changed."""
        key = self._key(name)
        with self._translated(name):
            try:
                self._api.put(self._store, key, data, mode="create")
            except self._errors("AlreadyExistsError"):
                return

    def get(self, name: str) -> bytes:
        """Return the content of an object. Raise `CorruptionError` if it is missing."""
        key = self._key(name)
        with self._translated(name):
            return bytes(self._api.get(self._store, key).bytes())

    def delete(self, name: str) -> None:
        """Delete an object. Old versions stay if the bucket keeps versions."""
        key = self._key(name)
        with self._translated(name):
            try:
                self._api.delete(self._store, key)
            except FileNotFoundError:
                return

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Yield all objects whose names start with `prefix`."""
        below = [self._prefix, prefix.partition("-")[0]] if "-" in prefix else [self._prefix]
        pages = iter(self._api.list(self._store, prefix="/".join(filter(None, below)) or None))
        while True:
            with self._translated(f"{prefix}*"):
                page = next(pages, None)
            if page is None:
                return
            now = datetime.now(UTC)
            for found in page:
                name = found["path"].rpartition("/")[2]
                if name.startswith(prefix) and is_blob(name) and found["path"] == self._key(name):
                    yield BlobInfo(name, max((now - found["last_modified"]).total_seconds(), 0.0))

    def _key(self, name: str) -> str:
        """The object key. Names with one owner share a folder, since a service lists by what precedes a slash."""
        return "/".join(filter(None, (self._prefix, checked_blob(name).partition("-")[0], name)))

    def _errors(self, name: str) -> Any:
        return getattr(importlib.import_module("obstore.exceptions"), name)

    @contextmanager
    def _translated(self, name: str) -> Iterator[None]:
        """Raise errors of obstore and the system as Backscroll's."""
        try:
            yield
        except (self._errors("BaseError"), OSError) as error:
            if "NoSuchBucket" in str(error):  # the class of the error does not always show it
                raise StoreUnavailableError(
                    f"the blob {name}: the bucket of {self!r} does not exist: create it first"
                ) from error
            if isinstance(error, FileNotFoundError):
                raise CorruptionError(f"the blob {name} is missing in {self!r}") from error
            if _REFUSED.search(str(error)):
                raise StoreUnavailableError(
                    f"the blob {name}: {self!r} rejects the credentials: check AWS_ACCESS_KEY_ID, "
                    f"AWS_SECRET_ACCESS_KEY and their permissions ({error!s:.200})"
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
        raise ConfigurationError(f"`prefix` {prefix!r} has a part that is empty, `.` or `..`: remove it")
    return clean


def _is_plain(endpoint: str) -> bool:
    """Whether an endpoint has no TLS. Raise `ConfigurationError` if such an endpoint is on another machine."""
    try:
        parts = urlsplit(endpoint)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError as error:
        raise ConfigurationError(f"`endpoint` {endpoint!r} is no valid address: {error}") from error
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"`endpoint` must be https://host or http://127.0.0.1:port, not {endpoint!r}")
    if parts.username or parts.password:
        raise ConfigurationError(
            "`endpoint` must not hold credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if parts.scheme == "http" and not _is_here(host):
        raise ConfigurationError(f"`endpoint` {endpoint!r} would send everything without TLS: use https")
    return parts.scheme == "http"


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
