"""Chinese texts for pictures and the gallery of a task."""

WORDS: dict[str, str] = {
    "Pictures": "图片",
    "without watermark": "无水印",
    "refunded {count}": "已退还 {count}",
    "Prompt": "提示词",
    "Service": "服务",
    "Seed": "种子",
    "Size": "尺寸",
    "Duration": "用时",
    "Published at": "发布于",
    "Alternatives": "备选",
    "There are no pictures yet.": "还没有图片。",
    "{done} of {total}": "{done} / {total}",
    "more": "更多",
}
