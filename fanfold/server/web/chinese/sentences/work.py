"""Why an attempt at an item failed, in Chinese."""

SENTENCES: dict[str, str] = {
    "form_not_partial": "任务 {task} 当前为{state:state}：格式 {form} 要等任务完成后才能生成。",
    "no_reason_given": "没有说明原因",
    "error_without_message": "{type}，没有说明",
    "error_not_shown": "{type}，其说明无法显示",
    "with_advice": "{what:bare}。{advice}",
    "free_space": "请在该磁盘上腾出空间",
    "more_files": "请提高打开文件数的上限（ulimit -n），或降低并发数",
    "make_temporary_folder": "请重新建立临时文件目录，或把 TMPDIR 设为另一个目录",
    "crash_and_poison": "{crash}{poison}",
    "poison": (
        "它已 {crashes} 次随进程一起丢失且没有进展：可能正是它使进程崩溃，因此放弃。如果进程是被外部终止的，则该"
        "条目无害[[；重新运行：fanfold retry {task} --item {key}]]"
    ),
    "worker_died": "它的工作进程已终止",
    "worker_died_before": "它的工作进程在该条目确定开始之前已终止，因此不计为崩溃",
    "worker_hangs": "它的工作进程超过时限仍无响应",
    "worker_hangs_before": "它的工作进程无响应，该条目可能尚未开始，因此不计为崩溃",
    "result_refused": "数据库拒绝了它的结果。",
    "stage_changed_kind": (
        "提交任务时 {stage} 的类型是 {before}，而在此工作进程的代码中是 {now_kind}。请用之前的代码运行工作进程后"
        "重试，或重新提交。"
    ),
    "time_limit": "超过了 {seconds:g} 秒的时限。",
    "external_gave_up": "等待外部作业 {waited:.0f} 秒后放弃（上限 {limit:.0f} 秒）。",
    "external_job_gave_up": "等待外部作业 {job} {waited:.0f} 秒后放弃（上限 {limit:.0f} 秒）。",
    "external_job_gave_up_error": (
        "等待外部作业 {job} {waited:.0f} 秒后放弃（上限 {limit:.0f} 秒）。最后一次查询失败：{error}"
    ),
    "external_late": (
        "外部作业 {job}（键 {key}）由一个已失去该条目的工作进程启动，与所采用的作业重复。它仍在运行，可能已计费。"
    ),
    "external_late_cancelled": (
        "外部作业 {job}（键 {key}）由一个已失去该条目的工作进程启动，与所采用的作业重复。已在服务端取消，可能已计费。"
    ),
    "external_before_redo": "重做之前的外部作业 {job}（键 {key}）其实已经启动。它仍在运行，可能已计费。",
    "external_before_redo_cancelled": "重做之前的外部作业 {job}（键 {key}）其实已经启动。已在服务端取消，可能已计费。",
    "external_poll_failed": "无法查询外部作业 {job}，将再次查询。{error}",
    "external_unclear": (
        "无法确定外部作业 {job} 是否已启动。[[请到该服务查看，然后：fanfold external {task} check | lost | resend]]"
    ),
    "external_unclear_error": (
        "无法确定外部作业 {job} 是否已启动（{error}）。[[请到该服务查看，然后：fanfold external {task} check | "
        "lost | resend]]"
    ),
    "external_no_id": "start 没有给出外部作业的编号",
    "external_kind": "外部作业的种类最多 {most} 个字符；此处有 {length} 个。",
    "external_name": "外部作业的名称须为 1 到 {most} 个字符；此名称有 {length} 个。",
    "external_twice": (
        "此尝试调用了两次 external(name={name!r})：第二次会得到第一次的作业。请给每个作业单独命名，例如 "
        "external(..., name='thumb')。"
    ),
    "external_stopped": "任务已暂停或取消，或条目已归他人：不启动作业。",
    "attempt_stopped": "任务已暂停或取消，或此尝试耗时过长。",
    "lease_lost": "{key} 的租约已丢失：现在归他人所有。",
    "not_a_question": "问题须为文本，或以 `prompt` 给出文本的映射；此处为 {type}。",
    "batch_returns_list": "{stage} 接收一组条目，须返回列表，每个条目一个结果；但返回的是 {type}。",
    "batch_returns_each": "{stage} 为 {items} 个条目返回了 {results} 个结果；须按顺序为每个条目返回一个。",
    "batch_list_fixed": (
        "条目列表不能就地修改：结果按位置分配。请排序或修改副本，例如 sorted(items, key=...) 或 list(items)，"
        "并按列表的顺序返回结果。"
    ),
    "split_yields": "{stage} 须产生 NewItem(…)，但给出的是 {type}。",
    "split_duplicate": "{stage} 产生了两个键同为 {key!r} 的条目；键不能相同。",
    "items_duplicate": "有两个条目的键是 {key!r}；键必须各不相同，作为文本也是。",
    "same_key": "其中两个条目的键相同",
    "key_like_position": (
        "第 {number} 个条目的键是 {key!r}，而第 {key} 个条目没有键，因而以其位置 {key} 为名。请给每个条目都设键，"
        "或不要用纯数字作键。"
    ),
    "key_length": "第 {number} 个条目的键须为 1 到 {most} 个字符且不含 NUL；它有 {length} 个。",
    "stage_spends_nothing": "{stage} 报告了费用，但声明了 spends=False。费用已计入。请去掉 spends=False，然后重新提交。",
    "tick_too_short": (
        "它的步骤用时超过 tick 给它的 {seconds:.3g} 秒：请多给时间[[（--seconds）]]，或用 takes= 说明所需秒数，或"
        "运行工作进程；然后重试"
    ),
    "child_ended": "本应运行它的进程已被终止。",
    "child_stopping": "工作进程正在停止。",
    "child_died": "运行它的进程终止了（{manner}）。",
    "killed_by_signal": "被信号 {signal} 终止",
    "killed_for_memory": "被信号 {signal} 终止，系统内存不足时会如此",
    "exit_code": "退出码 {code}",
    "child_not_ready": (
        "为它准备的子进程 {seconds:g} 秒后仍未就绪；处理函数没有被调用。如果它的模块导入确实需要这么久，请提高 "
        "FANFOLD_CHILD_START_SECONDS{hint}"
    ),
    "child_died_starting": "为它准备的子进程在启动时终止（{manner}）；处理函数没有被调用{hint}",
    "child_imports": "。它会导入 {path}：那里是否需要 `{guard}`？其错误输出可能有更多信息",
    "child_out_of_memory": "内存已耗尽：{error}",
    "child_over_limit": (
        "它占用的内存超过了子进程的上限 {limit}。如果输入没有问题，请提高上限（FANFOLD_CHILD_MEMORY_BYTES="
        "{wanted}）后重试"
    ),
    "children_over_limit": (
        "所有子进程共占用超过 {limit} 的内存，其中这一个最多（{taken}）。请减少同时运行的数量，或为每个设更低的上"
        "限（FANFOLD_CHILD_MEMORY_BYTES），然后重试"
    ),
    "not_unpickled": "传给它的参数无法在子进程中还原：{error:bare}。条目本身没有问题。请修正后重试。",
    "stage_not_in_child": (
        "阶段 {stage} 无法在子进程中运行：{why:bare}。条目本身没有问题。[[请修正，然后：fanfold retry {task}]]"
    ),
    "function_not_in_child": "{function} 无法在子进程中运行：{why:bare}。条目本身没有问题。",
    "import_raised": "在那里导入 {module} 时出错：{error}",
    "handler_not_found": "子进程在 {module} 中找不到 {name}；流水线是否写在 `if __name__ == ...` 之下？",
    "answered_by_other": "由 {model} 代替 {asked} 作答：{tried:then}",
    "bad_change_cursor": "{cursor!r} 不是改动列表中的位置。请用前一页的 `next`。",
    "no_each_before": "{stage} 之前没有 `each` 阶段。",
    "not_a_file_name": "{name!r} 不是文件名；请不要包含目录。",
    "result_file_gone": (
        "{stage} {item} 的结果已不在数据目录中。请放回，或重新生成[[：fanfold retry {task} --stage {stage} {again}]]"
    ),
    "file_gone": "文件 {file} 已不在 {folder} 中。请放回，或重新生成[[：fanfold rerun {task}]]",
    "file_damaged": (
        "{folder} 中的文件 {file} 有 {found} 字节，但写入时是 {size} 字节。它在那里被改动，或在传输途中被截断。"
        "请放回，或重新生成[[：fanfold rerun {task}]]"
    ),
    "file_damaged_public": "此任务的一个文件在存储处被改动，或在传输途中被截断。",
    "half_surrogate": "{what:word} 含有半个代理对，不是文本。请用 errors='replace' 解码。",
    "not_json": "{what:word} 无法保存为 JSON：{why:bare}。",
    "json_nan": "其中含有 NaN 或无穷大，JSON 没有这样的值；请用 None",
    "json_nested": "它引用了自身，或嵌套过深",
    "nul_in_value": "{what:word} 含有 NUL 字符，数据库无法保存。请去掉，或用 write() 写入文件。",
    "key_twice": "{what:word} 中键 {key} 出现两次，其中一次为文本：JSON 只有文本键，会丢失一个值。",
    "value_too_large": "{what:word} 有 {size:size}；上限为 {limit:size}。请改为返回 write(name, data)。",
    "returned_by": "{stage} 返回的内容",
    "input_of_item": "条目 {item} 的输入",
    "output_of_item": "{stage} 对条目 {item} 的结果",
    "output_of_stage": "{stage} 的结果",
    "argument_named": "参数 {name}",
    "option_named": "选项 {name}",
    "does_not_fit": "{what:word} 无法使用：{why:bare}。",
    "unreadable": "{what:word} 无法读回：{why:bare}。",
    "unreadable_held": "{why:ended}它保持保存时的样子；代码重新与之相符后，可以重试该条目[[：fanfold retry {task}]]",
    "type_unknown": (
        "它是 {type}，而此处不知道该类型。请在处理函数上标注该类型，将其交给 Pipeline(types=…)，或用 register_codec 注册"
    ),
    "field_added": "{type} 需要字段 `{field}`，而该值没有。请为该字段设默认值，或注册兼容两种形状的编解码器",
    "field_removed": "{type} 没有字段 `{field}`，而该值有。请恢复该字段，或注册兼容两种形状的编解码器",
    "in_field": "{type}.{field}：{why:bare}",
    "not_of_type": "{value} 不能成为 {type}{why}",
    "added_without_key": (
        "{stage} 添加了没有键的条目：请给每个添加的条目一个键（ff.NewItem(key=...)），这样重复的尝试不会添加两次。"
    ),
    "added_too_many": (
        "{stage} 的一个条目添加得太多：最多 {most} 个条目，输入合计最多 400 万个字符。请少添加一些；每个添加的条目还可以再添加。"
    ),
    "added_in_later_each": (
        "{stage} 不能添加条目：它的条目由 {before} 的条目生成。请在这一串 `each` 阶段的第一个中添加。"
    ),
}
