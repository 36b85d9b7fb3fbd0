"""Chinese texts of the application: title, states, options and forms."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "split": "拆分",
    "convert": "转换",
    "pages": "页",
    "merge": "合并",
    "text layer": "文本层",
    "ocr": "OCR 识别",
    "Model": "模型",
    "Pages": "页码",
    "Password": "密码",
    "Provider": "提供方",
    "Result": "结果",
    "always": "总是",
    "auto": "自动",
    "never": "从不",
    "partially failed": "部分失败",
    "Web page": "网页",
    "Format": "格式",
    "Chunks": "分块",
    "Front matter": "文首信息",
    "`md`: Markdown; `html`: one web page; `json`: blocks with page, box, kind and text.": (
        "`md`：Markdown；`html`：一个网页；`json`：带页码、位置、类型和文字的块。"
    ),
    "Also write chunks of at most this many characters for a search index, cut at headings; 0 for none.": (
        "另外按标题切分出最多这么多字符的块，供检索使用；0 表示不要。"
    ),
    "Whether to start the Markdown with the document's title, author, source and hash.": (
        "是否在 Markdown 开头写入文档的标题、作者、来源和哈希值。"
    ),
    "{count} page": "{count} 页",
    "{count} pages": "{count} 页",
    "PDF to Markdown": "PDF 转 Markdown",
    "Pages to convert: `1-3,7,10-`, `-5`, `last`; empty means all.": "哪些页：`1-3,7,10-`、`-5`、`last`；留空为全部。",
    "What converts the pages: `local`, or a configured provider.": "由谁转换：`local`，或已配置的提供方。",
    "Password of an encrypted PDF. It is used at once to make a copy without a password and is not stored.": (
        "用于打开加密的 PDF：立即用它生成一份无密码的副本，密码本身不会保存。"
    ),
    "Fallback models": "后备模型",
    "Prompt": "提示词",
    "Join across pages": "跨页连接",
    "Page marks": "页码标记",
    "One file per page": "每页一个文件",
    "Report": "报告",
    "Keep raw answers": "保留原始回答",
    "Images": "图片",
    "Longest side": "最长边",
    "Page limit": "最多页数",
    "Password variable": "密码环境变量",
    "Fresh": "重新来过",
    "Reading": "读取",
    "Limits": "限制",
    "Model of that provider.": "该提供方的模型。",
    "Models to ask if the first one fails. The last resort is always `local`: the text layer, or OCR for a scan.": (
        "前一个模型失败时依次询问的模型；最后在本机（`local`）完成该页：取文字层，扫描页用 OCR。"
    ),
    "Prompt for the model, instead of the one that comes with Fanfold.": "给模型的提示词，代替 Fanfold 自带的。",
    "`auto`: use OCR on pages without a text layer; `always`: on all pages; `never`: on none.": (
        "`auto`：没有文字层的页用 OCR；`always`：所有页；`never`：都不用。"
    ),
    "`auto`: keep page images that had to be rendered; `always`: keep one of every page; `never`: keep none; "
    "`figures`: like `auto`, and write the figures of pages with a text layer as files.": (
        "`auto`：需要时保留页面图片；`always`：总是；`never`：从不；`figures`：同 `auto`，并把有文字层的页中的插图存为文件。"
    ),
    "Longest side of a page image, in pixels.": "页面图片的最长边，像素。",
    "Whether to put a page-number mark before each page and a line between pages.": (
        "结果中每页前是否有页码标记、页间是否有分隔线。"
    ),
    "Whether to join paragraphs, words and tables split by a page break.": "是否把跨页断开的段落、单词和表格连起来。",
    "Whether to write one file per page as well.": "结果是否另含每页一个文件。",
    "Whether to write a JSON report on each page as well.": "结果是否另含记录每页信息的 JSON 文件。",
    "Maximum number of pages in a document.": "文档允许的最多页数。",
    "Environment variable of the workers that holds the document's password.": (
        "工作进程所在环境中存放文档密码的环境变量名。"
    ),
    "Whether to keep the models' raw answers even if they are good.": "模型的原始回答即使合格是否也保留。",
    "Set it to a new text to ignore cached answers.": "填入未用过的文字，即不采用以前保存的回答。",
}
