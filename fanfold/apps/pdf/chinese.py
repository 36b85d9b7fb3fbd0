"""The application in Chinese: its title, its words for states, its options and its forms."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "partially failed": "部分失败",
    "Web page": "网页",
    "{count} page": "{count} 页",
    "{count} pages": "{count} 页",
    "PDF to Markdown": "PDF 转 Markdown",
    "Which pages: `1-3,7,10-`, `-5`, `last`; all when empty.": "哪些页：`1-3,7,10-`、`-5`、`last`；留空为全部。",
    "Who converts: `local`, or a provider that is configured.": "由谁转换：`local`，或已配置的提供方。",
    "Opens an encrypted PDF. It is used at once to make a copy without a password, and is not stored.": (
        "用于打开加密的 PDF：立即用它生成一份无密码的副本，密码本身不会保存。"
    ),
    "Fallback models": "备用模型",
    "Prompt": "提示词",
    "Join across pages": "跨页连接",
    "Page marks": "页码标记",
    "One file per page": "每页一个文件",
    "Report": "报告",
    "Keep raw answers": "保留原始回答",
    "Pictures": "图片",
    "Longest side": "最长边",
    "Most pages": "最多页数",
    "Password variable": "密码环境变量",
    "Fresh": "重新来过",
    "Reading": "读取",
    "Limits": "限制",
    "The model of that provider.": "该提供方的模型。",
    "Models to ask when that one fails. At last a page is made here (`local`): from its text layer, a scan by OCR.": (
        "前一个模型失败时依次询问的模型；最后在本机（`local`）完成该页：取文字层，扫描页用 OCR。"
    ),
    "What the model is told, instead of the prompt that comes with Fanfold.": "给模型的提示词，代替 Fanfold 自带的。",
    "`auto`: pages without a text layer are read by OCR; `always`: all pages; `never`: none.": (
        "`auto`：没有文字层的页用 OCR；`always`：所有页；`never`：都不用。"
    ),
    "`auto`: pictures of pages are kept where one was needed; `always`; `never`.": (
        "`auto`：需要时保留页面图片；`always`：总是；`never`：从不。"
    ),
    "The longest side of a page's picture, in pixels.": "页面图片的最长边，像素。",
    "Whether the result has a mark with the page's number before each page, and a line between pages.": (
        "结果中每页前是否有页码标记、页间是否有分隔线。"
    ),
    "Whether paragraphs and words that a page break splits are joined.": "是否把跨页断开的段落和单词连起来。",
    "Whether the result has one file per page as well.": "结果是否另含每页一个文件。",
    "Whether the result has a JSON file with the facts of each page as well.": "结果是否另含记录每页信息的 JSON 文件。",
    "The most pages a document may have.": "文档允许的最多页数。",
    "The name of the environment variable, where the workers run, that has the document's password.": (
        "工作进程所在环境中存放文档密码的环境变量名。"
    ),
    "Whether the raw answers of models are kept, also when they are good.": "模型的原始回答即使合格是否也保留。",
    "Any text: answers that were kept before are not taken.": "任意文字：不采用以前保存的回答。",
}
