"""Labels in the metadata of a picture: that AI made it (IPTC), and the implicit label of GB 45438-2025.

Both are in the XMP packet, which JPEG, PNG, WebP and AVIF carry. No person and no prompt is named in it.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

SOURCE_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"
EDITED_TYPE = "http://cv.iptc.org/newscodes/digitalsourcetype/compositeWithTrainedAlgorithmicMedia"
IPTC = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
TC260 = "http://www.tc260.org.cn/ns/AIGC/1.0/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
AI_MADE = "1"
"""`Label` of GB 45438-2025: 1 is AI-generated."""


@dataclass(frozen=True)
class Label:
    """What the metadata of a picture says."""

    produce_id: str
    producer: str = ""
    from_picture: bool = False
    """Whether a photograph was the starting point."""


def source_type(label: Label) -> str:
    """How the picture came to be, in the words of IPTC."""
    return EDITED_TYPE if label.from_picture else SOURCE_TYPE


def xmp(label: Label) -> bytes:
    """The XMP packet of a picture."""
    kind = source_type(label)
    aigc = {
        "Label": AI_MADE,
        "ContentProducer": label.producer,
        "ProduceID": label.produce_id,
        "ReservedCode1": "",
        "ContentPropagator": label.producer,
        "PropagateID": label.produce_id,
        "ReservedCode2": "",
    }
    text = json.dumps(aigc, ensure_ascii=False, separators=(",", ":"))
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f'<rdf:RDF xmlns:rdf="{RDF}">'
        f'<rdf:Description rdf:about="" xmlns:Iptc4xmpExt="{IPTC}" xmlns:TC260="{TC260}"'
        f" Iptc4xmpExt:DigitalSourceType={quoteattr(kind)}>"
        f"<TC260:AIGC>{escape(text)}</TC260:AIGC>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
        '<?xpacket end="w"?>'
    ).encode()


def read_label(packet: bytes | str) -> tuple[str, dict[str, str]]:
    """The source type and the fields of the label in an XMP packet; empty if it has none."""
    text = packet.decode("utf-8", "replace") if isinstance(packet, bytes) else packet
    start, end = text.find("<x:xmpmeta"), text.find("</x:xmpmeta>")
    if start < 0 or end < 0 or "<!" in text:  # No declarations: nothing of ours has any, and entities can be bombs.
        return "", {}
    try:
        root = ElementTree.fromstring(text[start : end + len("</x:xmpmeta>")])
    except ElementTree.ParseError:
        return "", {}
    kind = ""
    fields: dict[str, str] = {}
    for one in root.iter(f"{{{RDF}}}Description"):
        kind = one.get(f"{{{IPTC}}}DigitalSourceType") or kind
        aigc = one.findtext(f"{{{TC260}}}AIGC")
        fields = json.loads(aigc) if aigc else fields
    return kind, fields
