"""Identities. A model is always the pair (provider, model); everything else is an opaque string with a type of its own."""

from typing import NamedTuple, NewType

ProfileId = NewType("ProfileId", str)
SessionKey = NewType("SessionKey", str)
AgentId = NewType("AgentId", str)
TurnId = NewType("TurnId", str)

MAIN_AGENT = AgentId("main")


class ModelRef(NamedTuple):
    """One (provider, model) pair; written `provider/model`. The provider is lower-case, the model id is case-sensitive."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}"


def parse_ref(text: str) -> ModelRef | None:
    """`acme/org/m:1@2025` -> (`acme`, `org/m:1@2025`): only the first `/` separates. None without a provider or a model."""
    provider, slash, model = text.strip().partition("/")
    if not slash or not provider or not model:
        return None
    return ModelRef(provider.lower(), model)


def provider_of(profile: ProfileId) -> str:
    """The provider that a profile id names by itself: what stands before the first `:` (spec 4.2, missing pins)."""
    return profile.partition(":")[0].lower()
