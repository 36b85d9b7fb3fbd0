"""What do the pages about workers, health and tokens say in Chinese?"""

SENTENCES: dict[str, str] = {
    "none": "无",
    "version {version} has a bug that can corrupt the file": "版本 {version} 有可能损坏文件的缺陷",
    "version {version}": "版本 {version}",
    "revision {revision}, this version needs {newest}": "修订 {revision}，此版本需要 {newest}",
    "revision {revision} is newer than this Fanfold": "修订 {revision} 比此 Fanfold 新",
    "revision {revision}": "修订 {revision}",
    "{seconds} s apart from the database's": "与数据库相差 {seconds} 秒",
    "{count} alive, {lost} lost": "{count} 个在线，{lost} 个失联",
    "{count} alive": "{count} 个在线",
    "active tasks: {count}, all of them served": "进行中的任务：{count} 个，都有工作进程处理",
    "active tasks that no worker serves: {count}": "没有工作进程处理的进行中任务：{count} 个",
    "{count} run under a worker that is gone": "{count} 个由已消失的工作进程运行",
    "{count} are far past their time limit": "{count} 个远超时限",
    "{count} have ended their stage and were not moved on": "{count} 个已结束阶段但未推进",
    "{count} belong to items that no longer run": "{count} 个属于不再运行的条目",
    "{states}; {many} for a person to look at": "{states}；{many} 个需要你看一下",
    "{count} in all, {many} for a person to look at": "共 {count} 个，{many} 个需要你看一下",
    "{count} in all, none waits for a person": "共 {count} 个，没有等人处理的",
    "active tasks with items that wait for a person: {count}": "有条目等人处理的进行中任务：{count} 个",
    "To see why: {command}": "查看原因：{command}",
    "{size} GB free": "剩余 {size} GB",
    "Set the clocks by NTP; leases are safe, but times will look odd.": "请用 NTP 校时；租约不受影响，但时间会显得不对。",
    "To see them: {command}": "查看：{command}",
    "Run: {command}": "请运行：{command}",
    "Upgrade Fanfold on this machine.": "请升级此机器上的 Fanfold。",
    "Any worker puts this right within {seconds} s: fanfold worker, or fanfold tick": (
        "任一工作进程会在 {seconds} 秒内修复：fanfold worker 或 fanfold tick"
    ),
    "Nobody serves {places}. Start a worker: {command} (or let a timer run: {timer})": (
        "没有工作进程处理 {places}。请启动：{command}（或用定时器运行：{timer}）"
    ),
    "Make room: fanfold prune --days N removes finished tasks with their files": (
        "请腾出空间：fanfold prune --days N 会删除已结束的任务及其文件"
    ),
}
"""Facts and advice of the checks, as the engine makes them; a longer pattern stands before one that it contains."""

WORDS: dict[str, str] = {
    "in the queue": "排队",
    "done per minute": "每分钟完成",
    "failure rate": "失败率",
    "mean time": "平均用时",
    "Throughput, last hour": "近一小时吞吐量",
    "Items done per minute over the last {minutes} minutes: now {latest}, on average {mean}, at most {most}.": (
        "近 {minutes} 分钟每分钟完成的条目数：当前 {latest}，平均 {mean}，最高 {most}。"
    ),
    "per minute: now {latest}, on average {mean}, at most {most}": "每分钟：当前 {latest}，平均 {mean}，最高 {most}",
    "1 hour ago": "1 小时前",
    "now": "现在",
    "The chart begins a few seconds after the server.": "服务器启动几秒后开始绘图。",
    "Worker": "工作进程",
    "State": "状态",
    "Running": "运行",
    "Done, last minute": "近一分钟完成",
    "Mean time": "平均用时",
    "Since": "启动于",
    "Serves": "处理",
    "working": "工作中",
    "idle": "空闲",
    "stopping": "停止中",
    "lost contact": "失联",
    "last seen": "最后出现于",
    "Health": "健康状况",
    "{count} watch live.": "{count} 人正在实时查看。",
    "database": "数据库",
    "sqlite": "SQLite",
    "schema": "表结构",
    "clock": "时钟",
    "served": "有无处理者",
    "abandoned items": "被遗弃的条目",
    "hanging items": "卡住的条目",
    "unclosed tasks": "未收尾的任务",
    "stale permits": "过期许可",
    "data folder": "数据目录",
    "shared data folder": "数据目录是否共用",
    "disk": "磁盘",
    **SENTENCES,
}
