"""Chinese words for the codes of the engine's errors."""

CODES: dict[str, str] = {
    "on_move": "同步记录",
    "permanent": "无法重试的错误",
    "temporary": "暂时的错误",
    "error": "错误",
    "timeout": "超时",
    "crash": "进程崩溃",
    "poison": "多次崩溃",
    "held": "等待人工",
    "job_failed": "外部作业失败",
    "no_answer": "没有可用的回答",
    "bad_answer": "回答不可用",
    "gave_up": "已放弃",
    "bad_split": "拆分有误",
    "duplicate_key": "键重复",
    "bad_key": "键不可用",
    "unstorable": "结果无法保存",
    "child_start": "子进程未能启动",
    "no_file": "缺少文件",
}
