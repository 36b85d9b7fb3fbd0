"""Makes small PDFs for tests: text, scans, blank, encrypted and broken ones."""

import hashlib
import io
import re
import textwrap
from pathlib import Path

import pypdfium2
from PIL import Image

from tests.apps.pdf.writing import LEFT, Pdf, Sheet

# From the PDF specification, for passwords shorter than 32 bytes.
PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
PERMISSIONS = -4
SCAN_SIZE = (1190, 1684)
SMALL_SHEET = (213, 302)
"""Points. Detecting lines takes a time that grows with the pixels of the rendered page, which has at most 300 dpi."""


def make_pdf(path: Path, pages: list[str]) -> Path:
    """Pages of plain text; a line that starts with ``# `` is a heading with a bookmark, an empty text an empty page."""
    path.write_bytes(Pdf([text_sheet(text) for text in pages]).written())
    return path


def make_scan(path: Path, pages: list[str], rotation: float = 0) -> Path:
    """Pages that are only a picture of their text, turned clockwise by this many degrees."""
    width, height = SMALL_SHEET
    sheets = [Sheet(picture=photograph(text, rotation), width=width, height=height) for text in pages]
    path.write_bytes(Pdf(sheets).written())
    return path


def make_blank(path: Path, pages: int = 1) -> Path:
    """Pages with nothing on them."""
    return make_pdf(path, [""] * pages)


def make_blank_scan(path: Path) -> Path:
    """A page with a blank image: white, but not without content."""
    return make_scan(path, [""])


def make_encrypted(path: Path, password: str, pages: list[str] | None = None, owner_password: str = "owner") -> Path:
    """Pages of plain text that open with either password only (standard security handler, RC4 with 128 bits)."""
    pdf = Pdf([text_sheet(text) for text in pages or ["Behind a password."]])
    lock(pdf, password.encode(), owner_password.encode())
    path.write_bytes(pdf.written())
    return path


def make_broken(path: Path) -> Path:
    """A file that claims to be a PDF and has nothing else of one."""
    path.write_bytes(b"%PDF-1.7\n" + hashlib.sha256(b"noise").digest() * 40)
    return path


def make_damaged(path: Path, pages: list[str]) -> Path:
    """A PDF that points to the wrong place for the table of its objects; a lenient reader can repair it."""
    content = Pdf([text_sheet(text) for text in pages]).written()
    path.write_bytes(re.sub(rb"startxref\n\d+", b"startxref\n7", content))
    return path


def text_sheet(text: str) -> Sheet:
    """A page with this text, line by line."""
    sheet = Sheet()
    for line in text.splitlines():
        if line.startswith("# "):
            sheet.heading(2, line.removeprefix("# "))
        else:
            sheet.lines(textwrap.wrap(line, 80) or [""], LEFT)
    return sheet


def photograph(text: str, rotation: float) -> bytes:
    """The page of this text as a gray JPEG of an upright page, the text on it turned clockwise."""
    document = pypdfium2.PdfDocument(Pdf([text_sheet(text)]).written())
    picture = document[0].render(scale=2, grayscale=True).to_pil().convert("L")
    document.close()
    turned = picture.rotate(-rotation, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
    turned.thumbnail(SCAN_SIZE)
    page = Image.new("L", SCAN_SIZE, 255)
    page.paste(turned, ((page.width - turned.width) // 2, (page.height - turned.height) // 2))
    file = io.BytesIO()
    page.save(file, "JPEG", quality=70)
    return file.getvalue()


def lock(pdf: Pdf, user: bytes, owner: bytes) -> None:
    """Encrypt what the file contains, and say so in its trailer (PDF 1.7, 7.6.3, revision 3)."""
    identity = hashlib.md5(b"fanfold").digest()
    owner_entry = rc4_20(digest_51((owner + PADDING)[:32]), (user + PADDING)[:32])
    permissions = PERMISSIONS.to_bytes(4, "little", signed=True)
    key = digest_51((user + PADDING)[:32] + owner_entry + permissions + identity)
    user_entry = rc4_20(key, hashlib.md5(PADDING + identity).digest()) + bytes(16)
    pdf.objects = [encrypted(key, number, *entry) for number, entry in enumerate(pdf.objects, 1)]
    entries = f"/O <{owner_entry.hex()}> /U <{user_entry.hex()}> /P {PERMISSIONS}"
    handler = pdf.add(f"/Filter /Standard /V 2 /R 3 /Length 128 {entries}")
    pdf.trailer += f" /Encrypt {handler} 0 R /ID [<{identity.hex()}> <{identity.hex()}>]"


def encrypted(key: bytes, number: int, dictionary: str, stream: bytes | None) -> tuple[str, bytes | None]:
    """One object with its strings and its stream encrypted by a key of its own."""
    own = hashlib.md5(key + number.to_bytes(3, "little") + bytes(2)).digest()
    hidden = re.sub(r"\(([^()]*)\)", lambda match: f"<{rc4(own, match[1].encode()).hex()}>", dictionary)
    hidden = re.sub(r"<(feff[0-9a-f]*)>", lambda match: f"<{rc4(own, bytes.fromhex(match[1])).hex()}>", hidden)
    return hidden, None if stream is None else rc4(own, stream)


def digest_51(data: bytes) -> bytes:
    """MD5, and MD5 of its result fifty more times."""
    for _ in range(51):
        data = hashlib.md5(data).digest()
    return data


def rc4_20(key: bytes, data: bytes) -> bytes:
    """RC4, twenty times, each with another key."""
    for turn in range(20):
        data = rc4(bytes(byte ^ turn for byte in key), data)
    return data


def rc4(key: bytes, data: bytes) -> bytes:
    """The stream cipher of old PDFs; it encrypts and decrypts."""
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
