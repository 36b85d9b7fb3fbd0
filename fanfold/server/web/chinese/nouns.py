"""Chinese names of inputs that cannot be used, inserted into messages as ``{what:word}``."""

WORDS: dict[str, str] = {
    "The key": "键",
    "The title": "标题",
    "The owner": "归属者",
    "The actor": "操作者",
    "The options": "选项",
    "The input": "输入",
    "The metadata": "元数据",
    "The reason": "原因",
    "A tag": "标签",
    "The priority": "优先级",
    "The retry limit": "重试上限",
    "The usage": "用量",
    "What was submitted": "提交的内容",
    "What is to be remembered": "要记住的内容",
    "A streamed piece": "流式输出的片段",
    "The id of an external job": "外部作业的编号",
    "not usable": "不可用的值",
}
