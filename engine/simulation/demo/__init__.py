"""The demo's world outside the gateway: providers that misbehave on a script, and clients that send traffic. All of it is real HTTP on
loopback; the engine, the gateway and the store that it meets are the real ones and know nothing of it."""
