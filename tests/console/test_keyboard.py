"""What counts as typed: bytes of a terminal in, pieces out (field report M06)."""

from __future__ import annotations

import random

import pytest

from console.keyboard import KEPT_BYTES, Keyboard, Pasted, Piece, Sequence, Typed


def heard(data: bytes) -> list[Piece]:
    return Keyboard().feed(data)


def typed(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, Typed))


def test_letters_and_sequences_come_in_their_order():
    assert heard(b"j\x1b[Bk\x1bOPx") == [Typed("j"), Sequence("\x1b[B"), Typed("k"), Sequence("\x1bOP"), Typed("x")]


def test_a_letter_of_several_bytes_may_come_in_two_portions():
    keyboard = Keyboard()
    assert keyboard.feed(b"\xd0") == []
    assert keyboard.feed(b"\xb9j") == [Typed("й" + "j")]


def test_a_lone_escape_is_the_key_once_nothing_has_followed():
    keyboard = Keyboard()
    assert keyboard.feed(b"\x1b") == []
    assert keyboard.patience_s == 0.1
    assert keyboard.give_up() == [Sequence("\x1b")]
    assert keyboard.patience_s is None


def test_two_escapes_are_two_keys():
    keyboard = Keyboard()
    assert [*keyboard.feed(b"\x1b\x1b"), *keyboard.give_up()] == [Sequence("\x1b"), Sequence("\x1b")]


@pytest.mark.parametrize(
    "answer",
    [
        b"\x1b]11;rgb:1111/2222/3333\x07",
        b"\x1b]52;c;UHJE\x07",
        b"\x1bPtmux;CP\x1b\\",
        b"\x1b_Gi=1;OK\x1b\\",
        b"\x1b^d\x1b\\",
        b"\x1bXr\x1b\\",
    ],
)
def test_an_answer_of_the_terminal_is_no_keys(answer: bytes):
    assert heard(answer + b"j") == [Typed("j")]


@pytest.mark.parametrize("report", [b"\x1b[M \xff\x80", b"\x1b[M\x20\x7f\x7f", b"\x1b[MCPD", b"\x1b[M\x1b\x1b\x1b"])
def test_a_mouse_report_of_the_old_kind_is_no_keys_whatever_its_bytes(report: bytes):
    assert heard(report + b"j") == [Typed("j")]


@pytest.mark.parametrize("broken", [b"\x1b[", b"\x1b[<0;10", b"\x1b[M ", b"\x1b[200", b"\x1b]52;c;CP", b"\x1bPdP", b"\x1bO"])
def test_of_a_sequence_that_is_broken_off_nothing_is_left(broken: bytes):
    keyboard = Keyboard()
    assert [*keyboard.feed(broken), *keyboard.give_up(), *keyboard.feed(b"j")] == [Typed("j")]


def test_a_sequence_broken_by_the_next_one_leaves_the_next_one():
    assert heard(b"\x1b[<0;1\x1b[Aj") == [Sequence("\x1b[A"), Typed("j")]


def test_a_sequence_longer_than_any_is_dropped():
    assert not any(isinstance(piece, Sequence) for piece in heard(b"\x1b[" + b"1;" * 200 + b"P"))


def test_bytes_of_no_alphabet_are_no_keys():
    assert typed(heard(b"\xff\xfe\xc0\x80j\xf5\xff")) == "j"


def test_a_pasted_text_is_one_piece_with_all_the_codes_in_it():
    assert heard(b"\x1b[200~dP\x1b[31mr\x1b[A\rq\x1b[201~j") == [Pasted("dP\x1b[31mr\x1b[A\rq"), Typed("j")]


def test_a_paste_may_come_in_any_portions():
    whole = b"j\x1b[200~secret \x1b[2J\xd0\xb9\x1b[201~k"
    for size in range(1, 12):
        keyboard = Keyboard()
        pieces = [piece for start in range(0, len(whole), size) for piece in keyboard.feed(whole[start : start + size])]
        assert pieces == [Typed("j"), Pasted("secret \x1b[2Jй"), Typed("k")], size


def test_a_megabyte_is_cut_and_what_follows_is_typed_again():
    keyboard = Keyboard()
    data = b"\x1b[200~" + b"dP\x1b[A" * 200_000 + b"\x1b[201~j"
    pieces = [piece for start in range(0, len(data), 4096) for piece in keyboard.feed(data[start : start + 4096])]
    assert [type(piece) for piece in pieces] == [Pasted, Typed]
    assert len(pieces[0].text) == KEPT_BYTES


def test_a_paste_without_an_end_is_over_after_a_silence_and_none_of_it_acts():
    keyboard = Keyboard()
    assert keyboard.feed(b"\x1b[200~dPCr") == []
    assert keyboard.patience_s == 3.0
    assert keyboard.give_up() == [Pasted("dPCr")]
    assert keyboard.feed(b"q") == [Typed("q")]


def test_no_bytes_are_an_error():
    dice = random.Random(7)
    for _ in range(300):
        keyboard = Keyboard()
        for _ in range(dice.randint(1, 6)):
            keyboard.feed(bytes(dice.choice(b"\x1b\x1b[]M<;0129~P_\\\x07\x80\xff\xd0jr") for _ in range(dice.randint(0, 40))))
            if dice.random() < 0.3:
                keyboard.give_up()
