"""The version of what runs, for `--version`, the console's header and the operator API."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Of the installed distribution; a source tree that is not installed says so."""
    try:
        return metadata.version("failover-console")
    except metadata.PackageNotFoundError:
        return "0+source"
