"""One attempt over HTTP, one file per API family. Knows nothing of chains, windows or sessions."""
