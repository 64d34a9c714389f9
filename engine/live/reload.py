"""A configuration that changes while the engine runs: read again when the file changed, on SIGHUP, and by an operator's act. A turn keeps
the generation it began with; a bad file changes nothing and stands as an alarm that names the place. What is valid is decided in
`engine.config`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from engine.config.files import read_config
from engine.config.reload import Stamp, changed, needs_restart, stamp
from engine.domain.errors import ConfigError
from engine.domain.settings import Settings
from engine.live.parts import Parts

ALARM = "config"


class ConfigWatch:
    """settings: the generation that new turns use; warnings: what its file may surprise with. adopted: called when it is another."""

    def __init__(
        self, parts: Parts, settings: Settings, path: Path | None, environ: Mapping[str, str], adopted: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._path = path
        self._environ = environ
        self._adopted = adopted
        self._stamp: Stamp | None = stamp(path) if path is not None else None
        self._reading = asyncio.Lock()
        self.settings = settings
        self.warnings: tuple[str, ...] = ()

    async def look(self) -> None:
        """Reads the file again if it is another one than last time."""
        if self._path is not None and changed(self._path, self._stamp) is not None:
            await self.reload(quiet=True)

    async def reload(self, *, quiet: bool = False) -> tuple[bool, str]:
        """True and what is new, or False and why the last good one stays. quiet: a file that means the same is not mentioned."""
        if self._path is None:
            return False, "there is no configuration file to read again"
        async with self._reading:
            self._stamp = stamp(self._path)
            try:
                loaded = await asyncio.to_thread(read_config, self._path, self._environ, generation=self.settings.generation + 1)
            except ConfigError as error:
                return False, self._rejected(error)
            before, after = self.settings, loaded.settings
            self.warnings = loaded.warnings
            self._parts.alarms.lower(ALARM)
            if replace(after, generation=before.generation) == before:
                self._parts.revision.touch()
                return True, f"the configuration is unchanged (generation {before.generation})"
            self.settings = after
            self._adopted()
            restart = needs_restart(before, after)
            text = f"configuration reloaded: generation {after.generation}, from the next turn on"
            if restart:
                text += f"; {', '.join(restart)} with the next start"
            self._parts.bus.publish("config_reloaded", generation=after.generation, restart=list(restart), warnings=list(loaded.warnings))
            self._parts.feed.say("notice", "config", text)
            self._parts.revision.touch_everything()
            return True, text

    def _rejected(self, error: ConfigError) -> str:
        problems = error.problems or (error.title,)
        more = f" (+{len(problems) - 1} more)" if len(problems) > 1 else ""
        text = f"configuration rejected, generation {self.settings.generation} stays: {problems[0]}{more}"
        self._parts.bus.publish("config_rejected", problems=list(problems), generation=self.settings.generation)
        self._parts.alarms.sound(ALARM, text)
        return text
