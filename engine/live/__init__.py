"""The thin async shell around the rules: drives walks over HTTP and the store, publishes snapshots and events."""
