"""The rules, pure and synchronous: `now` is passed in, nothing is awaited, no store is touched. Imports only `engine.domain`."""
