"""Messages about documents, by code, in English and Chinese. The catalogue of the application includes them."""

from __future__ import annotations

import fanfold as ff

ENGLISH: dict[str, str] = {
    "document_missing": "{file} does not exist. Check its path.",
    "document_unreadable": "{file} cannot be read: {why:bare}.",
    "document_empty": "{file} is empty (0 bytes). Was it downloaded completely?",
    "document_without_text": "{file} contains no text. Is it the right file?",
    "document_encrypted": "{file} is encrypted. Save a copy without a password and add that copy.",
    "document_scanned": (
        "{file} has only images and no text layer. To read it: pip install 'fanfold[ocr]'[[ where the workers run]]"
    ),
    "document_kind": "{file} is not a document that can be read: it looks like {kind:word}. Convert it to PDF first.",
    "document_too_large": "{file} is larger than {limit} MB. Split it into parts.",
    "document_needs_office": "{file} is a Word document. To read it: pip install 'fanfold[office]', or save it as PDF.",
    "document_damaged": "{file} is damaged and cannot be opened. Open it in Word and save it again, or save it as PDF.",
    "note_replaced": "{count} {count:byte|bytes} could not be decoded and {count:is|are} shown as \ufffd",
    "note_page": "page {page}: {why:bare}",
    "archive_damaged": "{file} is damaged and cannot be opened as a ZIP archive. Create it again.",
    "archive_too_many": "{file} contains {count} files, but the limit is {limit}. Split it into several archives.",
    "archive_too_large": "{file} unpacks to more than {limit} MB. Split it into several archives.",
    "member_path": "{file} was refused: its path in the archive leads out of the archive.",
    "member_link": "{file} was refused: it is a link. Put the file itself into the archive.",
    "member_encrypted": "{file} is encrypted in the archive. Create the archive without a password.",
    "member_bomb": "{file} was refused: it unpacks to {ratio} times its size. Add the file without the archive.",
    "member_too_large": "{file} was refused: it unpacks to more than {limit} MB.",
    "member_archive": "{file} is an archive within an archive. Unpack it first.",
    "member_damaged": "{file} is damaged in the archive. Create the archive again.",
    "manifest_empty": "The manifest {file} has no rows. Its first line names the columns; one of them is `source`.",
    "manifest_no_source": "The manifest {file} has no column `source` (or `file`, `path`). It has: {columns}.",
    "manifest_line": "Line {line} of the manifest {file} is not a JSON object: {why:bare}.",
    "manifest_no_file": "Row {row} of the manifest names no file.",
}

CHINESE: dict[str, str] = {
    "document_missing": "{file} 不存在。请检查路径。",
    "document_unreadable": "无法读取 {file}：{why:bare}。",
    "document_empty": "{file} 是空文件（0 字节）。是否下载完整？",
    "document_without_text": "{file} 中没有文字。文件是否正确？",
    "document_encrypted": "{file} 已加密。请另存一份不带密码的副本并添加该副本。",
    "document_scanned": "{file} 只有图片，没有文字层。如需读取：pip install 'fanfold[ocr]'[[（在工作进程所在环境中）]]",
    "document_kind": "{file} 不是可读取的文档：它看起来是{kind:word}。请先转换为 PDF。",
    "document_too_large": "{file} 大于 {limit} MB。请拆分后再添加。",
    "document_needs_office": "{file} 是 Word 文档。如需读取：pip install 'fanfold[office]'，或另存为 PDF。",
    "document_damaged": "{file} 已损坏，无法打开。请在 Word 中打开并重新保存，或另存为 PDF。",
    "note_replaced": "{count} 个字节无法解码，显示为 \ufffd",
    "note_page": "第 {page} 页：{why:bare}",
    "archive_damaged": "{file} 已损坏，无法作为 ZIP 压缩包打开。请重新创建。",
    "archive_too_many": "{file} 包含 {count} 个文件，上限为 {limit}。请拆成几个压缩包。",
    "archive_too_large": "{file} 解压后超过 {limit} MB。请拆成几个压缩包。",
    "member_path": "已拒绝 {file}：它在压缩包中的路径指向压缩包之外。",
    "member_link": "已拒绝 {file}：它是一个链接。请把文件本身放入压缩包。",
    "member_encrypted": "{file} 在压缩包中已加密。请创建不带密码的压缩包。",
    "member_bomb": "已拒绝 {file}：解压后是原大小的 {ratio} 倍。请不经压缩包直接添加该文件。",
    "member_too_large": "已拒绝 {file}：解压后超过 {limit} MB。",
    "member_archive": "{file} 是压缩包中的压缩包。请先解压。",
    "member_damaged": "{file} 在压缩包中已损坏。请重新创建压缩包。",
    "manifest_empty": "清单 {file} 没有数据行。第一行是列名，其中一列为 `source`。",
    "manifest_no_source": "清单 {file} 没有 `source` 列（或 `file`、`path`）。它有：{columns}。",
    "manifest_line": "清单 {file} 的第 {line} 行不是 JSON 对象：{why:bare}。",
    "manifest_no_file": "清单的第 {row} 行没有指明文件。",
}
say_of_document = ff.Catalogue("extract", ENGLISH, {"zh": CHINESE})
"""Builds a message about a document."""
