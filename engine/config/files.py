"""Which file is the configuration, and its text. What the text means is in `load`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import platformdirs

from engine.config.load import Loaded, load_settings
from engine.config.zero import load_zero_config
from engine.domain.errors import ConfigError

FILE_NAME = "failover.json5"
VARIABLE = "FAILOVER_CONFIG"
MAX_BYTES = 4 * 1024 * 1024


def find_config(explicit: str | Path | None, env: Mapping[str, str], *, cwd: Path | None = None) -> Path | None:
    """The file to read: the given one, FAILOVER_CONFIG, ./failover.json5, the one in the user's config directory; None if there
    is none. One that was named and is not there is a ConfigError: falling through to another would run a wrong configuration."""
    named = (explicit, "--config") if explicit else (env.get(VARIABLE), VARIABLE)
    if named[0]:
        path = Path(named[0]).expanduser()
        if not path.exists():
            raise ConfigError(
                "The configuration file is not there",
                (f"{named[1]}: {path} does not exist",),
                "name another, or make one with: failover init",
            )
        return path
    candidates = ((cwd or Path.cwd()) / FILE_NAME, user_config_file())
    return next((path for path in candidates if path.exists()), None)


def user_config_file() -> Path:
    """Where a person's own configuration lies on this platform."""
    return Path(platformdirs.user_config_dir("failover", appauthor=False)) / FILE_NAME


def read_text(path: Path) -> str:
    """The text of a configuration file. Raises ConfigError if it cannot be read, is no text, or is far too long."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise ConfigError(
                "The configuration cannot be read",
                (f"{path}: longer than {MAX_BYTES // 1024 // 1024} MB",),
                "name the right file with --config",
            )
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("The configuration cannot be read", (f"{path}: not UTF-8 at byte {error.start}",), "save it as UTF-8") from None
    except OSError as error:
        raise ConfigError("The configuration cannot be read", (f"{path}: {error.strerror}",), "look at its permissions") from None


def read_config(path: Path | None, env: Mapping[str, str], *, generation: int = 1) -> Loaded:
    """The configuration in `path`, or what the environment amounts to if there is no file. Raises ConfigError."""
    if path is None:
        return load_zero_config(env, generation=generation)
    try:
        return load_settings(read_text(path), env=env, generation=generation)
    except ConfigError as error:
        raise ConfigError(f"The configuration is not valid: {path}", error.problems, error.next_step) from None
