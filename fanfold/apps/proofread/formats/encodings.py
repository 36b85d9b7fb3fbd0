"""Finds the encoding of a text file and decodes it without losing a byte.

Checks the byte order mark first, then strict UTF-8. Nearly every Big5 or Shift-JIS file is also valid GB18030, so East
Asian encodings are distinguished by their share of common characters. charset-normalizer decides the rest.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

import fanfold as ff
from fanfold.apps.proofread.sentences import say_of_proofread

SAMPLE = 200_000
"""Number of bytes examined to choose between encodings."""
LEAST_COMMON = 0.2
"""A decoding with a smaller share of common characters is considered wrong. Ordinary Chinese text has more than half."""
MOST_BROKEN = 0.01
"""Largest share of bytes that may be broken for an encoding to be considered."""
LEAST_USUAL = 0.35
"""Smallest share of usual characters in a text in UTF-16. Other files decoded as UTF-16 have less than a tenth."""
MOSTLY_WESTERN = 0.9
FEW_BROKEN = 10
"""Minimum valid non-ASCII characters per broken one in UTF-8; other encodings rarely form valid UTF-8 sequences."""
MOST_LISTED = 200
"""Maximum broken bytes listed per line."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WIDTHS = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_EAST_ASIAN = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")
_COMMON = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运"
    "這個們來為國說時會對生著發後過裡裏種經麼學現當沒動開還進樣實從軍無與長機關點業將兩間問應戰頭體見產話門東聲員論處義條氣題爾變總電數報結場計資區隊邊張該萬覺術領傳師觀讓識帶導爭運"
    "，。！？：；、“”‘’「」『』（）《》…—　"
)
_WESTERN = frozenset("éèêëàâäáãåçîïíìôöóòõøûüúùñßæœÉÈÊÀÂÄÁÅÇÎÔÖÓØÜÚÙÑÆŒ’‘“”«»–—…°§€\u00a0¿¡")
_USUAL = re.compile("[\\t\\r\\n -~\\u00a0-\\u024f\\u0370-\\u06ff\\u0e00-\\u0e7f\\u3040-\\u30ff]")
"""Characters of alphabets that a text in UTF-16 consists of, if it is not Chinese."""
_SEVEN_BIT = (
    ("iso2022_jp", re.compile(rb"\x1b\$[@B]")),
    ("iso2022_kr", re.compile(rb"\x1b\$\)C")),
    ("hz", re.compile(rb"~\{")),
)
STATEFUL = frozenset(name for name, _ in _SEVEN_BIT)
"""Encodings in which the meaning of a byte depends on those before it, up to the start of the line."""
_KANA = re.compile("[\u3040-\u30ff]")
_HANGUL = re.compile("[이다는을를의에가은한고지하도로서기그나사있어라만들리인했것게과수니해자여아말]")


@dataclass(frozen=True)
class Encoding:
    """The encoding of a file. ``broken`` has the offsets of bytes that cannot be decoded."""

    name: str
    mark: bytes = b""
    broken: tuple[int, ...] = ()


def detect(data: bytes, encoding: str | None = None) -> Encoding:
    """The encoding of a file: the given one, the one of its byte order mark, or the most plausible one."""
    mark, by_mark = _marked(data)
    body = data[len(mark) :]
    chosen = known_encoding(encoding) if encoding else by_mark or find_encoding(body)
    return Encoding(chosen, mark, tuple(len(mark) + at for at in _broken(body, chosen)))


def wide_encoding(data: bytes, encoding: str | None = None) -> str:
    """The encoding if it has two or four bytes per unit: given, marked or detected. Empty for all others."""
    mark, by_mark = _marked(data)
    chosen = known_encoding(encoding) if encoding else by_mark or _wide(data[len(mark) :])
    return chosen if chosen in _WIDTHS else ""


def find_encoding(data: bytes) -> str:
    """The most plausible encoding of a file without a byte order mark."""
    if wide := _wide(data):
        return wide
    if _strict(data, "utf-8"):
        return _seven_bit(data) or "utf-8"
    broken_utf8 = len(_broken(data[:SAMPLE], "utf-8"))
    if broken_utf8 * FEW_BROKEN <= sum(one > "\x7f" for one in data[:SAMPLE].decode("utf-8", "ignore")):
        return "utf-8"
    sample = data[:SAMPLE]
    broken = [(len(_broken(sample, name)), name) for name in _EAST_ASIAN]
    scores = [
        (count == 0, _plausible(sample, name), -order, name)
        for order, (count, name) in enumerate(broken)
        if count <= max(2, MOST_BROKEN * len(sample))
    ]
    good = [one for one in scores if one[1] >= LEAST_COMMON]
    if good:
        return max(good)[-1]
    return "gb18030" if _frequent_in_gb(data) else _normalized(data, sample)


def line_ends(data: bytes, encoding: str) -> list[tuple[int, int]]:
    """The byte offsets of every line end: where the newline begins and where the next line begins."""
    width = _WIDTHS.get(encoding, 1)
    carriage, feed = "\r".encode(encoding), "\n".encode(encoding)
    pattern = re.compile(b"|".join(map(re.escape, (carriage + feed, carriage, feed))))
    found = []
    at = 0
    while match := pattern.search(data, at):
        if match.start() % width:
            at = match.start() + 1
            continue
        found.append(match.span())
        at = match.end()
    return found


def decode_span(data: bytes, encoding: str) -> str:
    """One piece of a file as text; bytes that cannot be decoded, and zeros, which no database stores, become U+FFFD."""
    return data.decode(encoding, "replace").replace("\0", "\ufffd")


def undecoded(data: bytes, encoding: str) -> list[bytes]:
    """The bytes behind each U+FFFD in ``decode_span`` of this piece of a file, in order."""
    found: list[bytes] = []
    at = 0
    while True:
        try:
            good, rest = data[at:].decode(encoding), b""
        except UnicodeDecodeError as error:
            good = data[at : at + error.start].decode(encoding)
            rest = data[at + error.start : at + max(error.end, error.start + 1)]
            at += max(error.end, error.start + 1)
        found += [one.encode(encoding) for one in good if one in "\0\ufffd"]
        if not rest:
            return found
        found.append(rest)


def encode(text: str, encoding: str, file: str) -> bytes:
    """Encode a text. Raises Permanent with the first character that the encoding lacks."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise ff.Permanent(
            say_of_proofread(
                "not_encodable", file=file, encoding=encoding, character=character, code=f"U+{ord(character):04X}"
            ),
            code="not_encodable",
        ) from error


def _marked(data: bytes) -> tuple[bytes, str]:
    return next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))


def known_encoding(encoding: str) -> str:
    """Python's name of an encoding. Raises BadOption if it does not exist."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except (LookupError, ValueError):
        raise ff.BadOption(say_of_proofread("unknown_encoding", encoding=encoding), field="encoding") from None
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(name, name)


def _broken(data: bytes, encoding: str) -> list[int]:
    """The offsets of bytes that cannot be decoded. Only lines that fail to decode are examined byte by byte."""
    if _strict(data, encoding):
        return [] if encoding in _WIDTHS else [found.start() for found in re.finditer(b"\0", data)][:MOST_LISTED]
    found, begin = [], 0
    for end, following in (*line_ends(data, encoding), (len(data), len(data))):
        found += [begin + at for at in _broken_in_line(data[begin:end], encoding)]
        begin = following
    return found


def _broken_in_line(line: bytes, encoding: str) -> list[int]:
    found: list[int] = []
    at = 0
    while len(found) < MOST_LISTED:
        try:
            line[at:].decode(encoding)
            break
        except UnicodeDecodeError as error:
            found.append(at + error.start)
            at += max(error.end, error.start + 1)
    return found


def _strict(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _wide(data: bytes) -> str:
    """UTF-16 without a byte order mark, if the file is plausible text in one byte order and not in the other.

    Zero bytes do not tell: in Chinese they are rare, and 一 has one where a space has none.
    """
    sample = data[: SAMPLE // 2 * 2]
    shares = {name: _share_usual(sample.decode(name, "ignore")) for name in ("utf-16-le", "utf-16-be")}
    name = max(shares, key=lambda one: shares[one])
    is_text = shares[name] >= LEAST_USUAL and shares[name] > 2 * min(shares.values())
    return name if is_text and len(_broken(sample, name)) <= 1 + MOST_BROKEN * len(sample) else ""


def _share_usual(text: str) -> float:
    """The share of characters that are usual in text of any language."""
    return (sum(one in _COMMON for one in text) + len(_USUAL.findall(text))) / len(text) if text else 0.0


def _seven_bit(data: bytes) -> str:
    """The encoding of a file that has only ASCII, but stands for Japanese, Korean or Chinese text."""
    if not data.isascii():
        return ""
    found = (name for name, mark in _SEVEN_BIT if mark.search(data) and _strict(data, name))
    return next((name for name in found if _plausible(data[:SAMPLE], name) >= LEAST_COMMON), "")


def _frequent_in_gb(data: bytes) -> bool:
    """Whether all characters beyond ASCII are punctuation or among the 3755 frequent ones of GB 2312.

    A title or a short text may have no character that is common in every text.
    """
    pairs = re.findall(rb"[\xa1-\xfe][\xa1-\xfe]|[\x80-\xff]", data[:SAMPLE])
    return any(0xB0 <= pair[0] <= 0xD7 for pair in pairs) and all(
        len(pair) == 2 and (0xB0 <= pair[0] <= 0xD7 or pair[0] in (0xA1, 0xA3)) for pair in pairs
    )


def _plausible(sample: bytes, encoding: str) -> float:
    """The share of non-ASCII characters that are common in ordinary text of this encoding."""
    text = [one for one in sample.decode(encoding, "ignore") if one > "\x7f"]
    if not text:
        return 0.0
    joined = "".join(text)
    good = sum(one in _COMMON for one in text)
    if encoding in ("cp932", "euc_jp", "iso2022_jp"):
        good += len(_KANA.findall(joined))
    if encoding in ("cp949", "iso2022_kr"):
        good += len(_HANGUL.findall(joined))
    return good / len(text)


def _normalized(data: bytes, sample: bytes) -> str:
    """The encoding that charset-normalizer detects, else the first East Asian encoding that fits, else UTF-8."""
    from charset_normalizer import from_bytes

    if _strict(data, "cp1252") and _western(sample) >= MOSTLY_WESTERN:
        return "cp1252"
    best = from_bytes(sample).best()
    if best is not None and _strict(data, best.encoding):
        return known_encoding(best.encoding)
    return next((name for name in ("gb18030", "cp1252") if _strict(data, name)), "utf-8")


def _western(sample: bytes) -> float:
    """The share of non-ASCII characters that are common in Western European languages, decoded as Windows-1252."""
    text = [one for one in sample.decode("cp1252", "ignore") if one > "\x7f"]
    return sum(one in _WESTERN for one in text) / len(text) if text else 0.0
