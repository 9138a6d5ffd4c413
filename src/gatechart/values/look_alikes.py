"""Names that look alike, and invisible characters, by the Unicode standards 15, 36 and 39."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import Final
from unicodedata import category, combining, decimal, name, normalize

# Characters that look like another one and that NFKC leaves as they are: first the character that they look like, then
# their code points. From the security data of Unicode (confusables.txt of UTS 39; (c) Unicode, Inc., Unicode License
# v3). If the table has a capital letter, its lower-case letter is treated in the same way.
_TABLE: Final = r"""
" 1cd3 5f2 5f4 201c 201d 201f 2033 2036 2ba 2dd 3003
! 1c3 2d51
& a778
' 2b9 2bb 2bc 2bd 2be 2c8 2ca 2cb 2f4 55a 55d 144a 16cc 2018 2019 201b 2032 2035 a78c 16f51 16f52
( 2768 2772 3014 fd3e
) 2769 2773 3015 fd3f
* 204e 66d 2217 1031f
+ 16ed 2795 1029b
, b8 60d 66b 201a a4f9
- 2d7 6d4 1173 2010 2012 2013 2014 2015 2500 30fc 3161 4e00 2043 2212 2796 2cba
. 660 6f0 701 702 a4f8 a60e 1d16d
/ 1735 2041 2044 2215 2571 27cb 29f8 2cc6 3033 30ce 31d3 4e3f 1d23a
; 37e
: 2d0 2f8 589 5c3 703 704 903 a83 16ec 1803 1809 205a 2236 a4fd a789
< 2c2 1438 16b2 2039 276e 1d236
= 1400 2e40 30a0 a4ff
> 2c3 203a 276f 16f3f 1d237
? 241 294 97d 13ae a6eb
\ 2216 27cd 29f5 29f9 31d4 4e36 1d20f 1d23b
^ 2c4 2c6
_ 2cd 7fa
{ 2774 1d114
} 2775
~ 2dc 55c 1fc0 2053 223c
2 1a7 3e8 14bf a644 a6ef a75a
3 1b7 21c 417 4e0 2ccc a76a a7ab 118ca 16f3b 1d206
4 13ce 118af
5 1bc 118bb
6 431 13ee 2cd2 118d5
7 104d2 118c6 1d212
8 222 223 9ea a6a b03 1031a
9 9ed a67 b68 d6d 2cca a76e 118ac 118cc 118d6
A 391 410 13aa 15c5 a4ee 102a0 16f40
B 392 412 13f4 15f7 a4d0 a7b4 10282 102a1 10301
C 421 13df 2ca4 a4da 102a2 10302 10415 1051c 118e9 118f2 1f74c
D 13a0 15de 15ea a4d3
E 395 415 13ac 22ff 2d39 a4f0 10286 118a6 118ae
F 3dc 15b4 a4dd a798 10287 102a5 10525 118a2 118c2 1d213
G 50c 13c0 13f3 a4d6
H 397 41d 13bb 157c 2c8e a4e7 102cf
J 37f 408 13ab 148d a4d9 a7b2
K 39a 41a 13e6 16d5 2c94 a4d7 10518
L 13de 14aa 2cd0 a4e1 1041b 10526 118a3 118b2 16f16 1d22a
M 39c 3fa 41c 13b7 15f0 16d6 2c98 a4df 102b0 10311
N 39d 2c9a a4e0 10513
O 39f 41e 555 9e6 b20 b66 12d0 2c9e 2d54 3007 a4f3 10292 102ab 10404 104c2 10516 114d0 118b5 118e0
P 3a1 420 13e2 146d 2ca2 a4d1 10295
Q 2d55
R 1a6 13a1 13d2 1587 a4e3 104b4 16f35 1d216
S 405 54f 13d5 13da a4e2 10296 10420 16f3a
T 3a4 422 13a2 22a4 27d9 2ca6 a4d4 10297 102b1 10315 118bc 16f0a 1f768
U 54d 1200 144c 222a 22c3 a4f4 104ce 118b8 16f42
V 474 667 6f7 13d9 142f 2d38 a4e6 a6df 1051d 118a0 16f08 1d20d
W 51c 13b3 13d4 a4ea 118e6 118ef
X 3a7 425 166d 16b7 2573 2cac 2d5d a4eb a7b3 10290 102b4 10317 10322 10527 118ec
Y 3a5 423 4ae 13a9 13bd 2ca8 a4ec 102b2 118a4 16f43
Z 396 13c3 a4dc 102f5 118a9 118e5
a 251 3b1 430 237a
b 184 42c 13cf 1472 15af
c 441 1d04 2ca5 abaf 1043d
d 501 13e7 146f a4d2
e 435 4bd 212e ab32
f 584 1e9d a799 ab35
g 18d 261 581 1d83
h 4bb 570 13c2
i 131 269 26a 3b9 456 4cf 13a5 2373 a647 ab75 118c3
j 3f3 458
l 196 1c0 399 406 4c0 661 6f1 16c1 2223 23fd 2c92 2d4f a4f2 1028a 10309 10320 16f28
n 578 57c
o 3bf 3c3 43e 585 665 6f5 966 a66 ae6 be6 c02 c66 c82 ce6 d02 d20 d66 d82 e50 ed0 101d 1040 10ff 1d0f 1d11 2c9f ab3d
o 1042c 104ea 118c8 118d7
p 3c1 440 2374 2ca3
q 51b 563 566
r 433 1d26 2c85 ab47 ab48 ab81
s 1bd 455 a731 abaa 10448 118c1
u 28b 3c5 57d 1d1c a79f ab4e ab52 104f6 118d8
v 3bd 475 1d20 2228 22c1 aba9 11706 118c0
w 26f 461 51d 561 1d21 ab83 1170a 1170e 1170f
x d7 445 1541 157d 166e 292b 292c 2a2f
y 263 28f 3b3 443 4af 10e7 1d8c 1eff ab5a 118dc
z 1d22 ab93 118c4
二 30cb
八 30cf
卜 30c8
口 30ed
夕 30bf
工 30a8
力 30ab
ヘ 3078
"""

CLEAR: Final = "visible characters, words of one script each, and single spaces between them"
"""What a name needs so that readers do not mistake it for another."""

_WITHIN_ASCII: Final = {"I": "l", "1": "l", "|": "l", "0": "O", "m": "rn", "`": "'"}

# Members of Default_Ignorable_Code_Point with a visible category, and the Braille blank.
_UNSEEN: Final = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))

_ACCENT: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_WITH_STROKE: Final = re.compile(r"LATIN (?P<case>SMALL|CAPITAL) LETTER (?P<letter>[A-Z]) WITH .+")

_KINDS: Final = {
    "Cc": "a control character",
    "Cf": "a character that cannot be seen",
    "Cs": "half a character, a lone surrogate",
    "Co": "a character for private use",
    "Zl": "a line break",
    "Zp": "a line break",
    "Zs": "a blank other than the usual space",
}

_LATIN: Final = "LATIN"
_EAST_ASIAN: Final = frozenset(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"))
_CURSIVE: Final = frozenset(("ARABIC", "SYRIAC", "MONGOLIAN", "NKO", "MANDAIC"))
_VIRAMA: Final = 9  # the combining class of viramas
_ANY_SCRIPT: Final = frozenset(("MODIFIER", "FEMININE", "MASCULINE", "KATAKANA-HIRAGANA"))

_LOOKS: Final[dict[str, str]] = {
    chr(int(code, 16)): line[0] for line in _TABLE.split("\n") if line for code in line[2:].split()
}
_FOLDED: Final = {char.casefold(): ascii_char.lower() for char, ascii_char in _LOOKS.items()} | _LOOKS


def unclear(text: str) -> str:
    """Return why a reader may mistake a name for another; empty if it is unmistakable.

    >>> unclear("anna"), unclear("Анна Kraft"), unclear("安娜 2")
    ('', '', '')
    >>> unclear("an\u200bna"), unclear(" anna"), unclear("anna  b")
    ('it has U+200B, a character that cannot be seen', 'it begins or ends with a space', 'it has two spaces in a row')
    >>> unclear("\u0430nna")
    'it mixes letters of CYRILLIC and LATIN in one word'
    """
    if text.isascii() and text.isprintable() and " " not in text:
        return ""
    for place, char in enumerate(text):
        kind = "a character that cannot be seen" if char in _UNSEEN else _KINDS.get(category(char), "")
        if kind and char != " " and not _is_joiner_in_word(text, place):
            return f"it has U+{ord(char):04X}, {kind}"
    if text != text.strip(" "):
        return "it begins or ends with a space"
    if "  " in text:
        return "it has two spaces in a row"
    mixed = next(filter(None, map(_mixed_scripts, _words(normalize("NFKC", text)))), ())
    return f"it mixes letters of {' and '.join(mixed)} in one word" if mixed else ""


def are_alike(one: str, other: str) -> bool:
    """Return whether readers may confuse two names: they differ only by case, width, accents or similar characters.

    >>> are_alike("Anna", "anna"), are_alike("\uff41nna", "anna"), are_alike("\u0430nna", "anna")
    (True, True, True)
    >>> are_alike("bot-l", "bot-1"), are_alike("bot-2", "bot-1"), are_alike("anna", "hanna")
    (True, False, False)
    >>> are_alike("\u00e1nna", "anna"), are_alike("\u0142ukasz", "lukasz"), are_alike("bot-\u0661", "bot-1")
    (True, True, True)
    """
    return not set(looks_of(one)).isdisjoint(looks_of(other))


@lru_cache(16_384)
def looks_of(text: str) -> tuple[str, ...]:
    """Return the forms of a name without case and as a skeleton of UTS 39. Look-alikes share at least one form.

    Accents are left out, as in browsers' checks of domain names. The vowel signs of scripts such as Devanagari stay.
    """
    visible = "".join(char for char in normalize("NFKC", text) if char not in _UNSEEN and category(char) != "Cf")
    plain = _without_accents(" ".join(visible.split()))
    folded = _without_accents(normalize("NFKC", plain.casefold()))
    by_case = "".join(_FOLDED.get(char, char) for char in folded).casefold()
    looks = [_LOOKS.get(char, char) for char in plain]
    skeleton = "".join(_WITHIN_ASCII.get(look, look) for look in looks).casefold()
    return f"case {by_case}", f"case {''.join(looks).casefold()}", f"digits {_digits(folded)}", f"skeleton {skeleton}"


def _without_accents(text: str) -> str:
    """Return a text without the marks of its letters, and without the strokes and hooks of Latin letters."""
    return text if text.isascii() else "".join(map(_letter, _ACCENT.sub("", normalize("NFD", text))))


def _letter(char: str) -> str:
    """Return the plain letter of a Latin letter with a stroke, a hook or the like."""
    match = None if char.isascii() else _WITH_STROKE.fullmatch(name(char, ""))
    return char if match is None else match["letter"] if match["case"] == "CAPITAL" else match["letter"].lower()


def _digits(text: str) -> str:
    """Return a text with its decimal digits written in ASCII."""
    return text if text.isascii() else "".join(str(decimal(char, char)) for char in text)


def first_alike(text: str, others: Iterable[str]) -> str | None:
    """Return the first of other names that looks like a name; None if there is none. The same name is no look-alike.

    >>> first_alike("bоt", ["anna", "bot", "Bot"]), first_alike("bot", ["bot"])
    ('bot', None)
    """
    return next((other for other in others if other != text and are_alike(text, other)), None)


def _is_joiner_in_word(text: str, place: int) -> bool:
    """Return whether a character joins or separates letters as the spelling of their script needs; see UAX 31, 2.3.

    These are the joiners after a virama of an Indic script, and the non-joiner between letters of a cursive script.
    """
    if text[place] not in "‌‍" or not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    if combining(before) == _VIRAMA:
        return _is_letter(after)
    scripts = {name(char, "").partition(" ")[0] for char in (before, after)}
    return text[place] == "‌" and len(scripts) == 1 and scripts <= _CURSIVE


def _words(text: str) -> list[str]:
    return ["".join(word) for is_word, word in groupby(text, key=_is_letter) if is_word]


def _is_letter(char: str) -> bool:
    return category(char)[0] in "LM" or char in "\u200c\u200d"


def _mixed_scripts(word: str) -> tuple[str, ...]:
    """Return the scripts of the letters of a word if they are not written together; see UTS 39, 5.2."""
    if word.isascii():
        return ()
    scripts = {name(char, "").partition(" ")[0] for char in word if category(char)[0] == "L"} - _ANY_SCRIPT - {""}
    is_usual = len(scripts) < 2 or scripts - {_LATIN} <= _EAST_ASIAN
    return () if is_usual else tuple(sorted(scripts))
