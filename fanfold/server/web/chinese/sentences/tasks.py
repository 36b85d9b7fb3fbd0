"""Errors and events of tasks, in Chinese."""

SENTENCES: dict[str, str] = {
    "unknown_reason": "原因不明",
    "stage_failed": "{stage} 失败：{why}",
    "items_failed": "{stage} 的 {count} 个条目失败{count:：|，例如：}{why}",
    "some_failed": "{stage} 的 {total} 个条目中有 {count} 个失败",
    "step_done": "{stage} 已完成",
    "step_failed": "{stage} 本身失败：{why}",
    "step_goes_on": "{stage} 继续进行",
    "merged_without_held": "不含 {stage} 中等待处理的 {count} 个条目",
    "goes_on_without": "不含它继续合并：{why}",
    "items_redone": "{stage} 的 {count} 个条目",
    "items_redone_named": "{stage} 的 {count} 个条目：{keys}",
    "items_accepted": "{stage} 的 {count} 项后备结果：{keys}",
    "external_job": "外部作业 {job}",
    "on_move_failed": "on_move 失败：{error}",
    "on_move_again": "{what:bare}。会以逐渐加长的间隔重试",
    "on_move_retried": "{what:bare}；{seconds:g} 秒后重试",
    "not_moved": "任务 {task} 没有推进：{what}",
    "action_failed_event": "{action} 失败：{why}",
}
