"""Messages of the application about documents and pages, by code, in English and Chinese."""

from __future__ import annotations

import fanfold as ff

ENGLISH: dict[str, str] = {
    "one_file": "Give one file per task[[: fanfold convert book.pdf]]",
    "too_many_pages": (
        "{file} would be {pages} pages, but the limit is {limit}. Convert it in parts with a page range such as 1-{limit}."
    ),
    "unreadable": "{file} cannot be read: {why:bare}.",
    "wrong_password": "This password does not open {file}. Check it and try again.",
    "encrypted": "{file} is encrypted. Give its password[[ (option `password`)]].",
    "protected": "{file} is protected in a way that no password opens. Print it to a new PDF from a viewer that shows it.",
    "empty_file": "{file} is empty (0 bytes). Was it downloaded completely?",
    "not_pdf": "{file} cannot be converted: it looks like {kind:word}.",
    "damaged": (
        "{file} is damaged and cannot be opened. Download it again, or print it to a new PDF from a viewer that shows it."
    ),
    "picture_damaged": "{file} is damaged and cannot be opened. Save it again from a viewer that shows it.",
    "picture_too_large": "{file} has {megapixels} megapixels, but the limit is {limit}. Make it smaller first.",
    "document_damaged": "{file} is damaged and cannot be opened. Save it again from the program that made it.",
    "document_too_large": "{file} unpacks to more than {limit} MB. Split it first.",
    "needs_office": "{file} needs the extra for office documents: pip install 'fanfold[office]'",
    "no_text": "{file} has no text. Is it the right file?",
    "no_picture": "This part has no picture: its text was read from the file itself.",
    "no_pages": "{file} has no pages. Is it the right file?",
    "page_not_drawn": "Page {page} cannot be rendered: it is damaged in the file.",
    "page_unreadable": "Page {page} cannot be read: {why:bare}.",
    "page_could_not_be_read": "the page could not be read",
    "page_damaged": "the page is damaged in the file ({why})",
    "layer_unreadable": "the text layer cannot be read: {why}",
    "picture_unreadable": "The image of the page cannot be opened.",
    "no_ocr": (
        "Page {page} is an image without a text layer. To read it: pip install 'fanfold[ocr]', or use a model"
        "[[ (--provider)]]; to leave such pages empty, set OCR to never[[ (--ocr never)]]"
    ),
    "layer_instead": "text layer instead of a model: {why}",
    "ocr_instead": "OCR instead of a model: {why}",
    "letters_lost": (
        "{count} {count:letter or digit|letters and digits} of the page {count:is|are} missing; compare it with the original"
    ),
    "words_lost": "the answer has only {percent:.0f}% of the page's words",
    "variable_not_set": "The environment variable {variable} is not set for the workers. Set it, then resume.",
    "local_has_no_models": "The option model is {model!r}, but {local} has no models. Name the provider of that model.",
    "local_comes_last": "The option fallback has {local} before other models. {local} must come last.",
    "chunks_small": "Chunks of {size} {size:character|characters} are too small: at least {least}, or 0 for none.",
    "range_syntax": (
        "Write pages like 1-3,7,10- (to the end), -5 (the first five), last or last-2 (the third from the end)"
    ),
    "range_empty": "The page range {range!r} names no page. {syntax}.",
    "range_wrong": "{part!r} in the page range {range!r} is not a page or a range. {syntax}.",
    "range_backwards": "{part!r} in the page range {range!r} runs backwards. {syntax}.",
    "range_beyond": (
        "The page range {range!r} names pages the document does not have: {part!r} of {total} {total:page|pages}. "
        "Choose from 1-{total}."
    ),
}

CHINESE: dict[str, str] = {
    "one_file": "每个任务请给一个文件[[：fanfold convert book.pdf]]",
    "too_many_pages": "{file} 有 {pages} 页，上限为 {limit} 页。请用页码范围（例如 1-{limit}）分批转换。",
    "unreadable": "无法读取 {file}：{why:bare}。",
    "wrong_password": "此密码打不开 {file}。请检查后再试。",
    "encrypted": "{file} 已加密。请给出密码[[（选项 `password`）]]。",
    "protected": "{file} 的保护方式无法用密码打开。请在能显示它的阅读器中打印为新的 PDF。",
    "empty_file": "{file} 是空文件（0 字节）。是否下载完整？",
    "not_pdf": "{file} 无法转换：它看起来是{kind:word}。",
    "damaged": "{file} 已损坏，无法打开。请重新下载，或在能显示它的阅读器中打印为新的 PDF。",
    "picture_damaged": "{file} 已损坏，无法打开。请在能显示它的程序中重新保存。",
    "picture_too_large": "{file} 有 {megapixels} 百万像素，上限为 {limit}。请先缩小。",
    "document_damaged": "{file} 已损坏，无法打开。请用制作它的程序重新保存。",
    "document_too_large": "{file} 解压后超过 {limit} MB。请先拆分。",
    "needs_office": "{file} 需要办公文档扩展：pip install 'fanfold[office]'",
    "no_text": "{file} 没有文字。文件是否正确？",
    "no_picture": "此部分没有图片：文字直接取自文件。",
    "no_pages": "{file} 没有页面。文件是否正确？",
    "page_not_drawn": "第 {page} 页无法绘制：它在文件中已损坏。",
    "page_unreadable": "第 {page} 页无法读取：{why:bare}。",
    "page_could_not_be_read": "该页无法读取",
    "page_damaged": "该页在文件中已损坏（{why}）",
    "layer_unreadable": "文字层无法读取：{why}",
    "picture_unreadable": "该页的图片无法打开。",
    "no_ocr": (
        "第 {page} 页是没有文字层的图片。如需读取：pip install 'fanfold[ocr]'，或交给模型[[（--provider）]]；"
        "如要让这样的页留空，请把 OCR 设为从不[[（--ocr never）]]"
    ),
    "layer_instead": "以文字层代替模型：{why}",
    "ocr_instead": "以 OCR 代替模型：{why}",
    "letters_lost": "该页缺少 {count} 个字母和数字；请与原件对照",
    "words_lost": "其中只有该页 {percent:.0f}% 的词",
    "variable_not_set": "工作进程所在环境中没有设置变量 {variable}。请设置后继续任务。",
    "local_has_no_models": "选项 model 为 {model!r}，而 {local} 没有模型。请指明该模型的提供方。",
    "local_comes_last": "选项 fallback 中 {local} 排在其他模型之前。{local} 须排在最后。",
    "chunks_small": "每块 {size} 个字符太少：至少 {least}，或 0 表示不分块。",
    "range_syntax": "页码写法：1-3,7,10-（到末页）、-5（前五页）、last 或 last-2（倒数第三页）",
    "range_empty": "页码范围 {range!r} 没有指明任何页。{syntax}。",
    "range_wrong": "页码范围 {range!r} 中的 {part!r} 不是页码或范围。{syntax}。",
    "range_backwards": "页码范围 {range!r} 中的 {part!r} 前后颠倒。{syntax}。",
    "range_beyond": "页码范围 {range!r} 指明了文档没有的页：{part!r}，而文档共 {total} 页。请从 1-{total} 中选择。",
}
say_of_pdf = ff.Catalogue("pdf", ENGLISH, {"zh": CHINESE})
"""Builds a message of the application."""
KINDS: dict[str, str] = {
    "a PNG picture": " PNG 图片",
    "a JPEG picture": " JPEG 图片",
    "a GIF picture": " GIF 图片",
    "a TIFF picture": " TIFF 图片",
    "a ZIP archive (or a Word, Excel or EPUB file)": " ZIP 压缩包（或 Word、Excel、EPUB 文件）",
    "an old Word or Excel file": "旧版 Word 或 Excel 文件",
    "an RTF document": " RTF 文档",
    "a PostScript file": " PostScript 文件",
    "a gzip archive": " gzip 压缩包",
    "a 7-Zip archive": " 7-Zip 压缩包",
    "a RAR archive": " RAR 压缩包",
    "a DjVu document": " DjVu 文档",
    "a web page (HTML)": "网页（HTML）",
    "an XML file": " XML 文件",
    "a text file": "文本文件",
    "another kind of file": "其他类型的文件",
}
"""Kinds of files that are not PDFs, in Chinese."""
