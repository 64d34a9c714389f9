"""Where state lies: one directory, its layout and its rights. Opens no database and knows nothing of what the files hold.

<root>/failover.sqlite                  sessions, decision log, notices, audit
<root>/agents/<agentId>/agent.sqlite    credentials and routing state of one agent
<root>/gateway.json  gateway.lock       the gateway that runs on this directory (`store.instance`)
<root>/operator.token                   what the operator API asks for
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from engine.domain.errors import StoreError
from engine.domain.ids import AgentId
from store.private import DIRECTORY_MODE, OTHERS, make_directory, tighten

SAFE_AGENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
AGENT_FILE = "agent.sqlite"
SHARED_FILE = "failover.sqlite"

ELSEWHERE = "choose another one with --state-dir or FAILOVER_STATE_DIR"


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths of one state directory. Nothing exists because of this object; `prepare` makes directories."""

    root: Path

    @classmethod
    def locate(cls, option: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None) -> StateDirectory:
        """`--state-dir`, else FAILOVER_STATE_DIR, else the platform's user state directory. An empty value counts as absent."""
        named = option or (os.environ if environ is None else environ).get("FAILOVER_STATE_DIR")
        return cls(Path(named or platformdirs.user_state_dir("failover")).expanduser().absolute())

    @property
    def shared_file(self) -> Path:
        return self.root / SHARED_FILE

    @property
    def agents(self) -> Path:
        return self.root / "agents"

    @property
    def gateway_file(self) -> Path:
        return self.root / "gateway.json"

    @property
    def lock_file(self) -> Path:
        return self.root / "gateway.lock"

    @property
    def token_file(self) -> Path:
        return self.root / "operator.token"

    def agent_file(self, agent: AgentId) -> Path:
        """Raises StoreError for an id that could name a file elsewhere."""
        if not SAFE_AGENT.fullmatch(agent):
            raise StoreError(
                "This agent id cannot be stored",
                f"{agent[:80]!r} is not a safe file name.",
                "use letters, digits, '.', '_' and '-', at most 64, beginning with a letter or a digit",
            )
        return self.agents / agent / AGENT_FILE

    def stored_agents(self) -> tuple[AgentId, ...]:
        """The agents that have a file here, sorted. Names that are no agent ids are none of ours. Raises OSError."""
        if not self.agents.is_dir():
            return ()
        names = sorted(filter(SAFE_AGENT.fullmatch, os.listdir(self.agents)))
        return tuple(AgentId(name) for name in names if os.path.lexists(self.agents / name / AGENT_FILE))

    def prepare(self) -> tuple[str, ...]:
        """The directory exists and can be written; what it had to tighten or cannot vouch for, in words. Raises StoreError."""
        notes: list[str] = []
        for path in (self.root, self.agents):
            try:
                made = not path.exists()
                make_directory(path)
            except OSError as problem:
                raise self._unusable(f"{path}: {problem.strerror}.") from problem
            if not path.is_dir():
                raise self._unusable(f"{path} is a file, not a directory.")
            if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                raise self._unusable(f"{path} is not writable.")
            if not made and path == self.root and path.stat().st_mode & OTHERS:
                # It may be a directory that people share on purpose; the files inside are closed either way.
                notes.append(f"{path} is open to others (mode {path.stat().st_mode & 0o777:04o}); chmod 700 closes it")
        notes.extend(note for note in (tighten(path, DIRECTORY_MODE) for path in self._own_directories()) if note)
        notes.extend(note for note in (tighten(path) for path in (self.gateway_file, self.lock_file, self.token_file)) if note)
        return tuple(notes)

    def _own_directories(self) -> tuple[Path, ...]:
        return (self.agents, *(self.agents / agent for agent in self.stored_agents()))

    def _unusable(self, happened: str) -> StoreError:
        return StoreError("The state directory cannot be used", happened, ELSEWHERE)
