"""API keys in the JSON files of an OpenClaw state folder (`auth-profiles.json`, `auth.json`), read and never written. What may be taken
over is decided here: keys that are a person's own. A login or subscription token was given to the tool that asked for it, under that
tool's client id, and is left where it is. Nothing is stored here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.domain.credentials import ApiKey, Credential, Token
from engine.domain.errors import UsageError
from engine.domain.ids import MAIN_AGENT, AgentId, ProfileId

FILES = ("auth-profiles.json", "auth.json")
MAX_FILE = 4 * 1024 * 1024
MAX_KEY = 16_384
_DATABASES = ("*.sqlite", "*.db", "*.sqlite3")
_PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}:[^\s\x00-\x1f\x7f/]{1,128}")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_SUBSCRIPTION = ("sk-ant-oat", "sk-ant-ort", "eyJ")


@dataclass(frozen=True, slots=True)
class FoundKey:
    """Where it was and what it is. credential None: it is not taken, and `why` says so."""

    agent: AgentId
    profile: ProfileId
    file: Path
    credential: Credential | None
    why: str = ""


def found_keys(folder: Path) -> list[FoundKey]:
    """Every profile in the folder's JSON files, the first of a name. Raises UsageError for a folder without any."""
    files = [(agent, path) for agent, place in _places(folder) for name in FILES if (path := place / name).is_file()]
    if not files:
        databases = [found for pattern in _DATABASES for found in folder.rglob(pattern)]
        if databases:
            what = f"{folder} holds its credentials in a database ({databases[0].name}), which belongs to the version that wrote it"
            raise UsageError(
                "That folder has only a database", what, "export the keys there, or add them: failover profiles add PROVIDER:NAME"
            )
        raise UsageError("There is nothing to import", f"{folder} has no {' and no '.join(FILES)}", "name the folder that has them")
    found: dict[tuple[AgentId, ProfileId], FoundKey] = {}
    for agent, path in files:
        for one in _in_file(agent, path):
            found.setdefault((one.agent, one.profile), one)
    return list(found.values())


def _places(folder: Path) -> Iterator[tuple[AgentId, Path]]:
    yield MAIN_AGENT, folder
    yield MAIN_AGENT, folder / "agent"
    agents = folder / "agents"
    for place in sorted(agents.iterdir()) if agents.is_dir() else ():
        if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", place.name):
            yield AgentId(place.name), place
            yield AgentId(place.name), place / "agent"


def _in_file(agent: AgentId, path: Path) -> Iterator[FoundKey]:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE + 1)
        data = json.loads(text) if len(text) <= MAX_FILE else None
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError("A file cannot be read", f"{path}: {type(problem).__name__}", "mend or remove it, then import again") from None
    profiles = data.get("profiles", data) if isinstance(data, dict) else None
    if not isinstance(profiles, dict):
        raise UsageError("A file cannot be read", f"{path}: it holds no profiles", "mend or remove it, then import again")
    for name, record in profiles.items():
        if not isinstance(record, dict) or "type" not in record:
            continue  # `version` and what newer versions add
        profile = ProfileId(name if ":" in name else f"{name}:default")
        if not _PROFILE.fullmatch(profile):
            continue
        taken = _taken(record, str(record.get("provider") or profile.partition(":")[0]).lower())
        if isinstance(taken, str):
            yield FoundKey(agent, profile, path, None, taken)
        else:
            yield FoundKey(agent, profile, path, taken)


def _taken(record: Mapping[str, object], provider: str) -> Credential | str:
    """The credential, or why it stays where it is."""
    kind = record.get("type")
    if kind == "oauth":
        return "a login that was given to another tool; sign in with a client of your own (models.providers.<id>.oauth)"
    if kind not in ("api_key", "token"):
        return f"of a type that is not known ({str(kind)[:40]})"
    value = record.get("key") if kind == "api_key" else record.get("token")
    reference = _reference(value if value is not None else record.get("keyRef") or record.get("tokenRef"))
    if reference is not None:
        return ApiKey(provider, key_ref=reference) if kind == "api_key" else Token(provider, key_ref=reference)
    if not isinstance(value, str) or not value.strip():
        return "without a key"
    value = value.strip()
    if value.startswith(_SUBSCRIPTION):
        return "a subscription's token that belongs to its vendor's own tool"
    if len(value) > MAX_KEY or not (value.isascii() and value.isprintable()) or " " in value:
        return "no key: it has a space, or characters that no header can carry"
    return ApiKey(provider, value) if kind == "api_key" else Token(provider, value, record.get("expires"))


def _reference(value: object) -> str | None:
    """`${NAME}`, or an object that names a variable; a key itself is none."""
    if isinstance(value, str):
        if value.startswith(("env:", "file:", "keyring:")):
            return value
        named = _VARIABLE.fullmatch(value.strip()) if value.strip().startswith("$") else None
        return f"env:{named[1]}" if named else None
    if isinstance(value, dict) and value.get("source") == "env" and isinstance(value.get("id"), str):
        return f"env:{value['id']}"
    return None
