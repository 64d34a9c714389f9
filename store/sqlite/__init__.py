"""State in SQLite files (spec/store.md): one shared file and one per agent. Only here is SQL spoken."""

from store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
