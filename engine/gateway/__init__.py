"""The local HTTP endpoints that applications point at, and the operator API. Decides nothing: turns requests into turns."""
