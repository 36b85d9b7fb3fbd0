"""Schedules, in Chinese."""

SENTENCES: dict[str, str] = {
    "starts_at": "于 {at:time} 开始",
    "run_at_or_delay": "run_at 与 delay 只能给一个。",
    "run_at_aware": "run_at 须是带时区的时间；此处为 {value}。",
    "delay_range": "delay 须是 0 秒到十年之间的秒数；此处为 {value}。",
    "bad_cron": "{cron!r} 不是 cron 表达式（{why}）。依次写分、时、日、月、星期，例如 0 3 * * * 表示每天三点。",
    "cron_never": "{cron!r} 永远不会到期。",
    "no_time_zone": "{zone!r} 不是时区。请使用 Asia/Shanghai 或 UTC 之类的名称。",
    "schedule_name": "定时计划的名称须为 1 到 100 个字母、数字、点、连字符或下划线；此处为 {name!r}。",
    "schedule_taken": "已有名为 {name} 的定时计划。[[要替换它：fanfold schedule remove {name}]]",
    "no_schedule": "没有名为 {name} 的定时计划。",
    "schedule_rule": "{field} 须是 {choices:,} 之一；此处为 {value!r}。",
    "schedule_missed": "当时没有工作进程",
    "schedule_still_runs": "上一次运行尚未结束",
    "schedule_queued_already": "已有一次运行在等待",
    "schedule_had_task": "这一时间已有任务 {task}",
    "schedule_secret": "定时计划不能保存机密选项 {option}。",
    "schedule_needs_pipeline": "这里没有流水线 {pipeline} 的代码。[[请在安装了它的地方运行，或用 --target 指明。]]",
}
