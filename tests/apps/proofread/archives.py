"""Makes small EPUB and DOCX files for tests."""

import io
import zipfile

CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
<rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<?xml version='1.0' encoding='utf-8'?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>雨夜</dc:title><dc:language>zh</dc:language></metadata>
<manifest><item id="two" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one%20page.xhtml" media-type="application/xhtml+xml"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="pic" href="pic.png" media-type="image/png"/></manifest>
<spine toc="ncx"><itemref idref="one"/><itemref idref="two"/></spine></package>"""
NCX = """<?xml version="1.0"?><ncx><docTitle><text>雨夜</text></docTitle><navMap>
<navPoint><navLabel><text>第一章</text></navLabel><content src="text/one%20page.xhtml"/></navPoint></navMap></ncx>"""
ONE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>第一章</title><style>p { color: red }</style></head>
<body class='b'><h1 id="h">第一章&#160;雨夜</h1><!-- a comment with <p>text</p> -->
<div>直接在 div 里的文字<p>雨下得<em>很<b>急</b></em>，像&nbsp;&hellip;有人
    把灯拧灭了<a epub:type="noteref" href="#n1">1</a>。</p>尾巴</div>
<p><span class="x">整段&amp;在一个 span 里</span></p>
<p>他叫<ruby>栀<rt>zhī</rt></ruby>子，公式 <math><mi>x</mi></math> 和 <code>if a &lt; b</code>。</p>
<unknown:tag>没人想到的元素</unknown:tag>
<pre>  code stays  </pre><p>* * *</p><table><tr><td>格子</td></tr></table>
<p>第一行<br/>第二行</p><img src="pic.png" alt="一把伞"/>
<script>var 文字 = 1;</script></body></html>
"""
TWO = "\ufeff<html><body><p>裸的第二页</p></body></html>"


def archive(members: list[tuple[str, bytes]], stored: frozenset[str] = frozenset({"mimetype"})) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in members:
            info = zipfile.ZipInfo(name, (2020, 2, 2, 2, 2, 2))
            info.compress_type = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            made.writestr(info, data)
    return out.getvalue()


def epub(one: str = ONE, *extra: tuple[str, bytes]) -> bytes:
    return archive(
        [
            ("mimetype", b"application/epub+zip"),
            ("META-INF/container.xml", CONTAINER.encode()),
            ("OEBPS/book.opf", PACKAGE.encode()),
            ("OEBPS/text/one page.xhtml", one.encode("utf-8", "surrogateescape")),
            ("OEBPS/two.xhtml", TWO.encode()),
            ("OEBPS/toc.ncx", NCX.encode()),
            ("OEBPS/pic.png", bytes(range(256))),
            *extra,
        ]
    )


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        return {name: made.read(name) for name in made.namelist()}


DOCUMENT = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<w:document xmlns:w="w" xmlns:m="m"><w:body>'
    '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>第一章 雨夜</w:t></w:r></w:p>'
    '<w:p w:rsidR="00A1"><w:r w:rsidR="1"><w:t>雨下得</w:t></w:r><w:proofErr w:type="spellStart"/><w:r><w:t>很急</w:t></w:r>'
    '<w:r><w:rPr><w:b/></w:rPr><w:t>非常</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve"> 急</w:t></w:r>'
    '<w:r><w:t>，A &amp; B。</w:t></w:r><w:bookmarkStart w:id="1"/>'
    '<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>完了。</w:t></w:r></w:p>'
    '<w:p><w:r><w:t>名字</w:t><w:tab/><w:t>年龄</w:t></w:r>'
    '<w:hyperlink r:id="r1"><w:r><w:rPr><w:rStyle w:val="Link"/></w:rPr><w:t>链接文字</w:t></w:r>'
    '</w:hyperlink><w:r><w:t>尾</w:t></w:r></w:p>'
    '<w:p><w:r><w:drawing><x/></w:drawing></w:r></w:p><w:p/>'
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>格子</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    "<w:sectPr/></w:body></w:document>"
)  # fmt: skip
FOOTNOTES = '<w:footnotes xmlns:w="w"><w:footnote><w:p><w:r><w:t>脚注文字</w:t></w:r></w:p></w:footnote></w:footnotes>'


def docx(document: str = DOCUMENT, *extra: tuple[str, bytes]) -> bytes:
    return archive(
        [
            ("[Content_Types].xml", b"<Types/>"),
            ("word/document.xml", document.encode()),
            ("word/footnotes.xml", FOOTNOTES.encode()),
            ("word/media/image1.png", bytes(range(256))),
            *extra,
        ]
    )
