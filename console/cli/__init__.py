"""The commands. Nothing here may import Textual when it is loaded: `failover status` must start fast."""
