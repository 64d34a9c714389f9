"""The failover engine: what failover is. No Textual and no SQL in here (see .github/CONTRIBUTING.md for the map)."""
