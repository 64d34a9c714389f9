"""The error tree. Each error has a title, what happened and the next step; the command line and the console print exactly that."""

from __future__ import annotations


class FailoverError(Exception):
    """Base of everything this project raises on purpose. exit_status: what a command ends with (spec/console.md)."""

    exit_status = 1

    def __init__(self, title: str, happened: str = "", next_step: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.happened = happened
        self.next_step = next_step

    def __str__(self) -> str:
        return "\n".join(part for part in (self.title, self.happened, self.next_step and f"next: {self.next_step}") if part)


class UsageError(FailoverError):
    """Wrong arguments. Exit status 2."""

    exit_status = 2


class ConfigError(FailoverError):
    """The configuration does not fit its schema. Exit status 2. problems: one line each, beginning with the path."""

    exit_status = 2

    def __init__(self, title: str, problems: tuple[str, ...] = (), next_step: str = "") -> None:
        super().__init__(title, "\n".join(problems), next_step)
        self.problems = problems


class ScenarioError(ConfigError):
    """A scenario does not fit its schema; the path of what is wrong stands in `problems`. Exit status 2."""


class ActRefused(FailoverError):
    """An operator's act was refused; nothing changed."""


class StoreError(FailoverError):
    """State could not be read or written."""


class StartError(FailoverError):
    """The gateway cannot start: a port in use, another gateway on the directory, a directory that is not writable."""


class GatewayUnreachable(FailoverError):
    """A running gateway was expected and did not answer."""
