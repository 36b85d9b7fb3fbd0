"""Chinese texts for the pages of templates."""

WORDS: dict[str, str] = {
    "Templates": "模板",
    "Name": "名称",
    "Kind": "类型",
    "Task": "任务",
    "Delete": "删除",
    "New template": "新建模板",
    "New template: {kind}": "新建模板：{kind}",
    "Version": "版本",
    "Versions": "版本",
    "version {version}": "第 {version} 版",
    "Note": "备注",
    "Saved by": "保存者",
    "Content": "内容",
    "There are no templates yet.": "还没有模板。",
    "No pipeline of this server takes templates.": "此服务器的流水线都不使用模板。",
    "It was not saved:": "未保存：",
    "Start a task with it: {pipeline}": "用它新建任务：{pipeline}",
    "JSON, or text in the notation of the application": "JSON，或应用自己的写法",
    "what has changed": "改动说明",
    "Save": "保存",
    "Save as version {version}": "保存为第 {version} 版",
    "Tasks that used it": "使用过它的任务",
    "None yet.": "暂无。",
    "Delete the template “{name}” with its {count} versions. Tasks that used it are not changed.": (
        "删除模板“{name}”及其 {count} 个版本。使用过它的任务不受影响。"
    ),
}
