"""The same walk on a virtual clock with scripted providers: `simulate`, tests, what-if and the demo's traffic."""
