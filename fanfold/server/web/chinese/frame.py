"""Chinese texts for the frame of every page."""

WORDS: dict[str, str] = {
    "keep as it is": "按现状保留",
    "admin": "管理员",
    "member": "成员",
    "viewer": "只读",
    "download": "下载",
    "download {title}": "下载 {title}",
    "start over": "从头再来",
    "Skip to content": "跳到正文",
    "Main pages": "主要页面",
    "Tasks": "任务",
    "Workers": "工作进程",
    "Search tasks": "搜索任务",
    "Log out": "退出登录",
    "Close": "关闭",
    "Back": "返回",
    "Yes": "确定",
    "Cancel": "取消",
    "The server cannot be reached.": "无法连接服务器。",
    "The server answered with an error.": "服务器返回了错误。",
    "Keys": "快捷键",
    "next and previous row": "下一行、上一行",
    "open the row": "打开该行",
    "select the row": "选择该行",
    "search": "搜索",
    "tasks": "任务",
    "workers": "工作进程",
    "this help": "本帮助",
    "{count} workers": "{count} 个工作进程",
    "no workers": "没有工作进程",
    "Another program has locked the database since {time}. The page is up to date, but nothing can be changed until the "
    "lock is released; then everything continues automatically.": (
        "自 {time} 起另一个程序一直锁定数据库。所见内容是真实的，但在其释放之前无法更改；之后一切自动继续。"
    ),
    "copy {what}": "复制 {what}",
    "No worker is running. Start one on the machine that should do the work:": (
        "没有工作进程在运行，任务不会推进。请在要执行工作的机器上启动："
    ),
    "This did not work": "操作未成功",
    "There is no such page.": "没有这个页面。",
    "Connection lost at {time}; retrying. The page shows the state at that time.": (
        "{time} 起连接中断，正在重试；页面显示的是当时的数据。"
    ),
    "Database lost since {time}; retrying. The page shows the state at that time.": (
        "{time} 起无法读取数据库，正在重试；页面显示的是当时的数据。"
    ),
    "The database cannot be used right now": "数据库暂时无法使用",
    "This page retries automatically.": "本页面会自动重试。",
    "Code": "代码",
    "Go to tasks": "回到任务",
    "Log in": "登录",
    "This server requires a token. Its administrator creates one with:": "此服务器需要令牌，由管理者创建：",
    "Token": "令牌",
    "This token is not valid.": "令牌无效。",
    "Preview": "预览",
    "{count} s": "{count} 秒",
    "{count} min": "{count} 分钟",
    "{count} h": "{count} 小时",
    "{minutes} min {seconds} s": "{minutes} 分 {seconds} 秒",
    "{hours} h {minutes} min": "{hours} 小时 {minutes} 分",
    "{days} d {hours} h": "{days} 天 {hours} 小时",
    "{count} bytes": "{count} 字节",
    "{count} d": "{count} 天",
}
