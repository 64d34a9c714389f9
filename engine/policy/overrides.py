"""Spec section 9, `override.*` and the pin that follows an answer: which session fields a turn writes, and which it takes back.
Pure: fields in, fields out; when they must be durable is the walk's and the driver's business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from engine.domain.ids import ModelRef, ProfileId
from engine.domain.sessions import NOTICE_FIELDS, OWNED_FIELDS, Session
from engine.policy.notices import cleared_text, fallback_text, is_announced, notice_fields
from engine.policy.pins import PIN_FIELDS, pin_is_auto, pin_is_user
from engine.policy.selection import Selected, is_auto, is_explicit


@dataclass(frozen=True, slots=True)
class SavedOverride:
    """What `override.persist-first` wrote, and what stood there before. Lost with its process, the override stays unproven: the next turn
    starts from it by the normal chain, with the origin as its last resort (`override.crash-safe`)."""

    written: Mapping[str, object]
    former: Mapping[str, object]


def override_to_save(session: Session, selected: Selected, ref: ModelRef, profile: ProfileId | None) -> SavedOverride | None:
    """The fields to store before the first attempt on `ref`: None where nothing may or need be written: a user's selection, a per-run
    turn, or the candidate is the selection itself or its primary."""
    if not selected.writes_selection or is_explicit(session) or ref in (selected.start, selected.primary):
        return None
    origin = session.origin if is_auto(session) and session.origin is not None else selected.primary
    written: dict[str, object] = {
        "provider_override": ref.provider,
        "model_override": ref.model,
        "model_override_source": "auto",
        "model_override_fallback_origin_provider": origin.provider,
        "model_override_fallback_origin_model": origin.model,
    }
    if not pin_is_user(session):
        written.update(_pin(session, profile))
    former = {name: getattr(session, name) for name in written}
    return SavedOverride(written, former)


def rollback(session: Session, saved: SavedOverride) -> dict[str, object] | None:
    """`override.rollback`: the former values, if every field still holds what was written; None (`not_applied`) if any differs."""
    if any(getattr(session, name) != value for name, value in saved.written.items()):
        return None
    return {name: value for name, value in saved.former.items() if value != saved.written[name]}


_owned = attrgetter(*OWNED_FIELDS)


def same_selection(before: Session, after: Session) -> bool:
    """Did nobody else (a reset, a `/model`, a pin) touch the owned fields while the candidate was answering?"""
    return before.session_id == after.session_id and _owned(before) == _owned(after)


@dataclass(frozen=True, slots=True)
class Answered:
    """fields: what the session gets at first content. notices: (text, kind) to hand out, in order; `pending` is a cleared notice that
    the feed has had already (`override.forced-probe`). recovered: the primary is back."""

    fields: Mapping[str, object] = field(default_factory=dict)
    notices: tuple[tuple[str, str], ...] = ()
    recovered: bool = False


def on_answer(
    session: Session, selected: Selected, ref: ModelRef, profile: ProfileId | None, reason: str | None, now: int, *, switched: bool
) -> Answered:
    """What an answer of `ref` changes in the session, decided at its first content. reason: the turn's, as a notice words it.
    switched: a live switch moved the turn, so nothing is announced."""
    if selected.per_run:
        return Answered()
    fields: dict[str, object] = {}
    notices: list[tuple[str, str]] = []
    if session.pending_notice is not None:
        notices.append((session.pending_notice, "pending"))
        fields["pending_notice"] = None
    announced = session.fallback_notice_active_model
    recovered = False
    if ref == selected.selected or switched:
        if announced is not None:
            fields.update(dict.fromkeys(NOTICE_FIELDS))
            if not switched:
                notices.append((cleared_text(ref, announced), "cleared"))
        if is_auto(session) and selected.writes_selection and not switched:
            recovered = True
            fields.update(dict.fromkeys((*OWNED_FIELDS[:3], *OWNED_FIELDS[6:])))
    elif is_announced(session, selected.selected, ref):
        if reason is not None:
            fields["fallback_notice_reason"] = reason
    else:
        why = reason or "selected model unavailable"
        notices.append((fallback_text(ref, selected.selected, why), "fallback"))
        fields.update(notice_fields(session, selected.selected, ref, why, now))
    if selected.writes_selection and not pin_is_user(session, now):
        fields.update(_pin(session, profile))
    changed = {name: value for name, value in fields.items() if getattr(session, name) != value}
    return Answered(changed, tuple(notices), recovered)


def recovery(session: Session, primary: ModelRef, profile: ProfileId | None) -> tuple[dict[str, object], str | None]:
    """A forced probe that worked (`override.forced-probe`): the fields to write and the cleared notice, None if none was announced."""
    fields: dict[str, object] = dict.fromkeys((*OWNED_FIELDS[:3], *OWNED_FIELDS[6:], *NOTICE_FIELDS))
    announced = session.fallback_notice_active_model
    text = cleared_text(primary, announced) if announced is not None else None
    if text is not None:
        fields["pending_notice"] = text
    if not pin_is_user(session):
        fields.update(_pin(session, profile))
    return {name: value for name, value in fields.items() if getattr(session, name) != value}, text


def _pin(session: Session, profile: ProfileId | None) -> dict[str, object]:
    """`pin.auto`: the profile with the compaction count; without a profile the auto pin goes."""
    if profile is None:
        return dict.fromkeys(PIN_FIELDS) if pin_is_auto(session) else {}
    return {
        "auth_profile_override": profile,
        "auth_profile_override_source": "auto",
        "auth_profile_override_compaction_count": session.compaction_count,
    }
