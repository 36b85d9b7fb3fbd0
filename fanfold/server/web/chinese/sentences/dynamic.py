"""Subtasks, and gates that ask for an answer, in Chinese."""

SENTENCES: dict[str, str] = {
    "waits_for_subtasks": "等待 {count} 个子任务，例如 {task}",
    "subtasks_changed": (
        "{count} 个子任务在其结果被此处采用之后又重做了：{tasks}。此任务仍是先前的结果。要重做采用它的部分，请重试 {items}："
        "除非处理函数读取已有的结果，否则会提交新的子任务[[（fanfold retry {task} --stage STAGE --item ITEM）]]"
    ),
    "subtask_failed": "子任务 {name}（{task}）的状态是 {state:state}：{why}",
    "subtask_gone": "子任务 {name}（{task}）已被删除。",
    "subtask_twice": "此条目在本次尝试中已有子任务 {name}。请给每个子任务各自的 name=。",
    "subtask_name": "子任务的名称最多 {most} 个字符；此处有 {length} 个。",
    "subtask_stage": "{stage} 不能提交子任务：步骤、拆分和 `each` 阶段可以。",
    "subtask_depth": "子任务嵌套超过 {most} 层。提交自身流水线的处理函数必须在某处结束。",
    "subtask_pipeline": "没有已安装的包提供流水线 {pipeline!r}。请直接给出流水线而不是名称。",
    "subtask_budget": "任务 {task} 有预算，其子任务也需要预算：submit_subtask(…, budget=…)。",
    "subtask_exceeds_budget": "子任务所需超过预算 {cap} 中剩余的 {left}",
    "parent_paused": "父任务 {task} 已暂停",
    "parent_resumed": "父任务 {task} 已继续",
    "parent_cancelled": "父任务 {task} 不再需要它",
    "delete_parent": "它是 {parent} 的子任务，随其一起删除。[[要一并删除：fanfold delete {parent}]]",
    "waits_for_answer": "在 {stage} 之前等待您的回答：{names:,}",
    "gate_answered": "在 {stage} 之前的回答：{answer}",
    "gate_unanswered": "阶段 {stage} 需要回答 {names:,}。[[用 --answer NAME=VALUE 给出。]]",
    "gate_passed": "任务 {task} 已不在 {stage} 之前等待：现在处于 {place}，因此未采纳您的回答。",
    "gate_not_asked": "任务 {task} 的状态是 {state:state}，并不在等待回答，因此未采纳。请不带回答地继续。",
    "gate_needs_answer": "阶段 {stage} 需要回答：请带回答继续",
    "gate_needs_answer_first": "阶段 {stage} 需要回答 {names:,}，任务无法直接通过。请不要使用 straight_through 提交。",
}
