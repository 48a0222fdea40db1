"""Packages that some benchmarks need and no lock names."""

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def missing(packages: Iterable[str]) -> list[str]:
    """Return those that are not installed."""
    return [package for package in packages if not _is_installed(package)]


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True
