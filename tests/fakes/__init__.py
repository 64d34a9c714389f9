"""Stand-ins over real sockets, for tests alone."""
