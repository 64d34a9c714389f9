"""Durable state behind `engine.domain.store.StateStore`. Imports only `engine.domain`."""
