"""The text of the file that `failover init` writes. Every setting that stands in a comment stands there with its default, and a
test takes the comments off to prove it. Nothing is written or read here."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.config.catalogue import CATALOGUE
from engine.config.zero import providers_in_environment

EXAMPLE_PRIMARY = f"anthropic/{CATALOGUE['anthropic'].default_model}"
_EXAMPLES = ("anthropic", "openai")

_TEXT = """\
// failover-console: which model a request starts from, and where it goes when that fails.
// JSON5. It is read again when it changes; with a mistake in it, it is refused and the last good one stays.
// To check it: failover config check
{
  agents: {
    defaults: {
      // Tried from left to right. The ids are examples: look up what your provider serves today.
      model: {
        primary: $primary,
        fallbacks: $fallbacks,
      },
      // Only these may be asked for by name (empty: all), and names for them:
      //example models: { $primary: { alias: "main" } },
      // A budget for a whole turn, all its attempts together:
      //example timeoutSeconds: 300,
    },
    // An agent with a model of its own and no `fallbacks` is strict: it never falls back.
    //example list: [{ id: "ops", model: { primary: $primary, fallbacks: [] } }],
  },

  auth: {
    // Where each key lies, never the key: env:NAME, file:PATH or keyring:SERVICE/NAME.
    profiles: {
$profiles    },
    // Which key of a provider comes first (else the one that rested longest):
    //example order: { $provider: [$profile] },
    //default cooldowns: {
    //default   transientBackoffMinutes: [0.5, 1, 5],
    //default   billingBackoffHours: 5,
    //default   billingMaxHours: 24,
    //default   authPermanentBackoffMinutes: 10,
    //default   authPermanentMaxMinutes: 60,
    //default   failureWindowHours: 24,
    //default   rateLimitedProfileRotations: 1,
    //default   overloadedProfileRotations: 1,
    //default   overloadedBackoffMs: 0,
    //default },
  },

  // Providers that the catalogue does not know, or knows differently:
  //example models: {
  //example   providers: {
  //example     local: { baseUrl: "http://127.0.0.1:8080/v1", api: "openai-completions", auth: "none" },
  //example   },
  //example },

  // Another host than loopback needs `token`, a reference as above.
  //default gateway: {
  //default   host: "127.0.0.1",
  //default   port: 4141,
  //default   notices: "headers", // or "inline": before the text, where nobody sees headers
  //default   requested: "chain", // or "strict": a model that an application names has no fallbacks
  //default   unknownModel: "error", // or "auto"
  //default   bodyLimitMb: 32,
  //default   drainSeconds: 30,
  //default },
  //default console: { time: "local", mouse: true, alerts: { bell: false, title: false, on: [] } },
  //default store: { retentionDays: 30, retentionRows: 1000000 },
  //default log: { level: "info" },
}
"""


def starter_text(env: Mapping[str, str], *, uncomment: tuple[str, ...] = ()) -> str:
    """The file, for the providers whose keys are in `env`; for two examples if none is. The variables are named, their values not read.
    uncomment: `default`, `example` or both make those settings real instead of comments."""
    found = [(entry, variable) for entry, variable in providers_in_environment(env) if entry.default_model]
    found = found or [(CATALOGUE[name], CATALOGUE[name].variables[0]) for name in _EXAMPLES]
    refs = [f"{entry.id}/{entry.default_model}" for entry, _ in found]
    ids = [f"{entry.id}:env" for entry, _ in found]
    profiles = "".join(
        f'      "{profile}": {{ provider: "{entry.id}", mode: "api_key", keyRef: "env:{variable}" }},\n'
        for profile, (entry, variable) in zip(ids, found, strict=True)
    )
    text = _TEXT
    for name, value in (
        ("$primary", json.dumps(refs[0])),
        ("$fallbacks", json.dumps(refs[1:])),
        ("$profiles", profiles),
        ("$provider", json.dumps(found[0][0].id)),
        ("$profile", json.dumps(ids[0])),
    ):
        text = text.replace(name, value)
    for kind in ("default", "example"):
        text = text.replace(f"//{kind} ", "" if kind in uncomment else "// ")
    return text
