"""Why a command is refused, in Chinese."""

SENTENCES: dict[str, str] = {
    "no_lane": "没有通道“{lane}”：可用 live、batch 或 auto。",
    "lane_of_finished": "任务 {task} 的状态为 {state:state}：只有未结束的任务才能更换通道。",
    "lane_changed": "此后模型提问方式为 {lane}",
    "refused": "任务 {task} 目前{state:state}：{problem}。[[现在可以：{ways}]]",
    "refused_for_good": "任务 {task} 目前{state:state}：{problem}。现在无法对它做任何操作。",
    "needs_state": "“{verb:word}”需要{states:a}的任务",
    "step_running": "它的 {stage} 步骤仍在运行",
    "none_failed": "它没有失败的条目；请指明要重做的条目[[（--item）]]",
    "no_merge": "它的流水线没有合并",
    "not_started_yet": "任务尚未开始；“继续”可提前开始",
    "waits_before_no_merge": "它在 {stage} 之前等待，而那不是合并",
    "merges_by_itself": "它没有等人处理的条目，会自行合并",
    "cannot_go_on_without": "没有 {stage} 就无法继续，而它正在等您处理",
    "no_merge_follows": "{stage} 之后没有合并",
    "split_follows_merge": "{stage} 在最后一次合并之后，会再次运行",
    "deleted_meanwhile": "任务在此期间被删除了。",
    "value_without_replace": "只有 replace 才能带值，{verdict} 不能（条目 {item}，部分 {part}）。",
    "decision_too_large": ("条目 {item} 的部分 {part} 的值为 {size:size}；上限为 {limit:size}。请对更小的部分作决定。"),
    "decision_with_file": "条目 {item} 的部分 {part} 的值含有文件。决定只能保存文本、数字等 JSON 值。",
    "nothing_to_decide": "任务 {task} 没有含多个条目的阶段，因此没有可以决定的内容。",
    "decisions_of_each": "{stage} 没有可供合并的条目结果；决定针对 each 阶段的条目。",
    "decisions_not_read": "没有合并会读取关于 {stage} 的决定；可以针对 {read:or}。",
    "decisions_about_item": "对 {item} 作出 {count} 个决定",
    "decisions_about_items": "对 {items} 个条目作出 {count} 个决定：{keys}",
    "no_decision": "决定应有 {fields}；{value} 中一个也没有。",
    "decision_lacks": "决定缺少 {names}：{value}。应有：{fields}。",
    "decision_unknown": "决定中有未知的 {names}：{value}。应有：{fields}。",
    "no_verdict": "没有名为 {verdict!r} 的裁定。可用的有：{verdicts}。",
    "task_deleted": "任务 {task} 已被删除。",
    "moving_on": "任务正在推进；请稍后再试。",
    "steered_by_others": "同时有人在操作此任务；请重试。",
    "put_back_by_others": "同时有人在重置任务 {task} 的条目；请重试。",
    "items_or_degraded": "请指明要重做的条目，或要求重做后备结果，两者只能选一。",
    "no_such_items": "任务 {task} 没有条目 {keys}。[[查看：fanfold items {task}]]",
    "no_such_items_in": "任务 {task} 的 {stage} 中没有条目 {keys}。[[查看：fanfold items {task}]]",
    "items_busy": "任务 {task} 的这些条目中有的正在等待或处理中；请等它们完成，或暂停任务。",
    "none_degraded_named": "任务 {task} 目前{state:state}：这些条目中没有尚未接受的后备结果。",
    "none_degraded_in": "任务 {task} 目前{state:state}：{stage} 中没有尚未接受的后备结果。",
    "none_degraded": "任务 {task} 目前{state:state}：没有尚未接受的后备结果。",
    "runs_once": "{stage} 每个任务只在结束时运行一次；不能单独重试。",
    "nothing_to_redo": "任务 {task} 的 {stage} 中没有可重做的：请指明其中已完成的条目[[（--item）]]。",
    "password_too_late": "任务 {task} 已读取过输入：密码对 {stage} 不起作用。请从头再来，或连同密码重新提交文件。",
    "input_changed": "任务 {task} 的输入同时被他人更改；请重试。",
    "no_many_items_retry": "任务 {task} 没有含多个条目的阶段，重试时无需指明条目[[：fanfold retry {task}]]",
    "no_such_place": "{place} 不是此任务流式输出中的位置。请使用已收到的某一行的 `place`。",
    "no_many_items": "任务 {task} 没有含多个条目的阶段。",
    "degraded_accepted": "任务 {task} 不能这样重试：它的后备结果已被接受。请指明要重做的条目[[（--item）]]。",
    "not_degraded": "任务 {task} 不能这样重试：它没有后备结果。",
    "pipeline_needed": (
        "任务 {task} 只能在已知其流水线 {pipeline} 的地方从头再来，因为阶段可能已改变。[[请指明流水线：fanfold "
        "rerun {task} --target module:pipeline]]"
    ),
    "begins_differently": "任务 {task} 当初从 {before} 开始，而它的流水线现在从 {after} 开始：请重新提交。",
    "mirror_needed": (
        "任务 {task} 要同步自己的记录（{pipeline} 的 on_move），因此这里需要它的流水线。[[请指明：--target "
        "module:pipeline]]"
    ),
    "no_such_move": "状态表中没有到 {state:state} 的 {verb:word}。",
    "no_external_verb": "外部作业没有 {verb} 操作。可用的有：{known}。",
    "no_external_jobs_for": "任务 {task} 的条目 {keys} 没有外部作业。[[查看：fanfold external {task}]]",
    "external_starting": "任务 {task} 的一个外部作业正在启动：请稍等后再试。",
    "external_item_ended": (
        "任务 {task} 的这些外部作业所属的条目已经结束：{keys}。请先重试这些条目；届时会查询其作业，而不会重新启动。"
        "[[fanfold retry {task} {key}]]"
    ),
    "no_external_to_check": "任务 {task} 没有可查询的外部作业。[[查看：fanfold external {task}]]",
    "no_external_unknown": "任务 {task} 没有结果不明的外部作业。[[查看：fanfold external {task}]]",
    "action_needs_state": "任务 {task} 目前{state:state}：操作 {action} 需要{states:words}的任务。",
    "action_not_taken": "无法执行操作 {action}",
    "no_action": "流水线 {pipeline} 没有操作 {action!r}。可用的有：{known}。",
    "no_actions": "流水线 {pipeline} 没有操作 {action!r}。它没有任何操作。",
    "action_failed": "任务 {task} 的操作 {action} 失败：{why}",
    "action_returned": "操作 {action} 返回了 {type}。它必须返回文字，或不返回任何内容。",
    "form_not_made": "无法生成任务 {task} 的格式 {form}",
    "no_form": "流水线 {pipeline} 没有格式 {form!r}。可用的有：{known}。",
    "no_forms": "流水线 {pipeline} 没有格式 {form!r}。它没有任何格式。",
    "form_failed": "无法生成任务 {task} 的格式 {form}：{why}",
    "form_no_file": "格式 {form} 返回了 {name}，它不是文件。",
    "form_returned": "格式 {form} 返回了 {type}。它须返回文本、字节、路径或 File。",
    "form_changed": "生成格式 {form} 时任务 {task} 发生了变化。请在它完成后再试。",
    "pipeline_not_loaded": "任务 {task} 的流水线 {pipeline} 无法在此加载，因此{what}：{error}",
    "pipeline_not_known": (
        "此处没有流水线 {pipeline} 的代码，因此{what}。请安装含有它的包，或带上它启动服务器。[[在命令中：--target"
        " package.module:pipeline]]"
    ),
    "no_result": "任务 {task} 目前{state:state}，没有结果。{ways}",
    "no_result_because": "任务 {task} 目前{state:state}，没有结果：{why:bare}。{ways}",
    "possible_now": "[[现在可以：{ways}。]]",
    "earlier_result": "{what}[[ 之前的结果：fanfold result {task} --earlier。]]",
    "no_output": "任务 {task} 的条目 {item} 目前{state:state}，没有输出。",
    "no_earlier_output": "任务 {task} 的条目 {item} 目前{state:state}，没有更早的输出。",
    "no_output_but_earlier": (
        "任务 {task} 的条目 {item} 目前{state:state}，没有输出。可要求更早的输出[[（--earlier）]]。"
    ),
    "still_in_state": "{seconds:g} 秒后任务 {task} 仍为{state:state}。",
    "no_file": "任务 {task} 没有文件 {name}。",
    "no_task": "没有任务 {task}。[[查看全部：fanfold tasks]]",
    "several_tasks": "{task} 对应多个任务：{tasks}。请给出更完整的编号。",
    "no_stage": "此任务没有阶段“{stage}”：它有 {stages}。",
    "key_taken": "已有键为 {key!r} 的任务。",
    "key_reused": (
        "键 {key!r} 属于任务 {task}，而那是另一件工作：流水线、选项、输入或条目不同。新的工作请用新的键[[；查看该"
        "任务：fanfold show {task}]]"
    ),
}
