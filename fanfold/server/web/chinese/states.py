"""Chinese words for the engine's states, inserted into messages as ``{state:state}``, and for its commands."""

STATES: dict[str, str] = {
    "active": "进行中",
    "pending": "等待开始",
    "splitting": "拆分中",
    "processing": "处理中",
    "ready to merge": "待合并",
    "merging": "合并中",
    "compensating": "清理中",
    "running": "运行中",
    "retrying": "重试中",
    "waiting": "等待中",
    "paused": "已暂停",
    "completed": "已完成",
    "partial": "部分完成",
    "failed": "失败",
    "cancelled": "已取消",
    "done": "完成",
    "scheduled": "已定时",
}
COMMANDS: dict[str, str] = {
    "pause": "暂停",
    "resume": "继续",
    "cancel": "取消",
    "retry": "重试",
    "rerun": "从头再来",
    "accept": "接受",
    "merge": "合并",
    "delete": "删除",
}
