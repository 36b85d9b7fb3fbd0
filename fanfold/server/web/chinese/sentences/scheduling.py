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
    "webhook_no_secret": (
        "此工作进程没有 webhook {webhook} 的密钥：请在运行工作进程处设置 {variable} 或 FANFOLD_WEBHOOK_SECRET，然后重试"
    ),
    "webhook_bad_secret": "webhook 的密钥须为 base64，例如 whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw。",
    "webhook_gone": "webhook {webhook} 已被移除或停用。",
    "webhook_answered": "{host} 回答 {status}：{answer}",
    "webhook_refused": "不得访问 {host}：{why}。设置 private_addresses 可允许私有地址。",
    "webhook_unreachable": "无法连接 {host}：{why}",
    "webhook_name": "webhook 的名称须为 1 到 63 个字母、数字、点、连字符或下划线；此处为 {name!r}。",
    "webhook_url": "{url!r} 不是以 http:// 或 https:// 开头的网址。",
    "webhook_events": "事件有 {known:,}；以下不是：{unknown:,}。",
    "no_webhook": "没有名为 {name} 的 webhook。",
    "notify_list": "notify 是最多 {most} 个 webhook 名称或网址的列表。",
}
