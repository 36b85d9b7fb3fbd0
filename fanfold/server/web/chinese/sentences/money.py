"""Sentences about budgets, estimates and costs, in Chinese."""

SENTENCES: dict[str, str] = {
    "budget_amount": "{value} 不是金额：请写美元数，例如 5.00。",
    "budget_amount_small": "{value} 太小，无法计数：最小金额为 0.000000001 美元。",
    "budget_spent": (
        "预算已用完：已花费 {spent}，预算 {cap}，下一次调用可能花费 {next}。提高预算即可继续。"
        "[[提高预算：fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_spent_own": (
        "预算已用完：已花费 {spent}，预算 {cap}。提高预算即可继续。[[提高预算：fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_spent_unknown": (
        "预算已用完：已花费 {spent}，预算 {cap}，为未收到回答的调用预留 {unknown}，下一次调用可能花费 {next}。提高预算即可继续。"
        "[[提高预算：fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_too_small": (
        "一次调用最多可能花费 {next}，而严格预算为 {cap}。提高预算即可继续。[[提高预算：fanfold budget {task} --raise AMOUNT]]"
    ),
    "budget_shared_spent": (
        "{whose}的预算已用完：已花费 {spent}，预算 {cap}，下一次调用可能花费 {next}。请在 fanfold.toml 的 [budgets] 中提高，"
        "然后继续任务。"
    ),
    "budget_of_owner": "所有者 {name} ",
    "budget_of_owner_in": "所有者 {name} 在 {time} ",
    "budget_of_provider": "提供方 {name} ",
    "budget_of_provider_in": "提供方 {name} 在 {time} ",
    "budget_of_day": "{day} 当日",
    "budget_price_unknown": (
        "{model} 的价格未知，因此无法遵守预算。请在 fanfold.toml 的 [providers.{provider}] 中设置 price_input 和 price_output，"
        "或允许未知费用。[[允许：fanfold budget {task} --allow-unknown-cost]]"
    ),
    "budget_waits": "预算的剩余部分已为正在进行的调用预留",
    "budget_warning": "预算已花费 {share}%：{spent}，预算 {cap}",
    "budget_shared_spent_own": (
        "{whose}的预算已用完：已花费 {spent}，预算 {cap}。请在 fanfold.toml 的 [budgets] 中提高，然后继续任务。"
    ),
    "budget_shared_own_exceeded": (
        "{whose}的预算已用完：已花费 {spent}，预算 {cap}，其中包括处理程序自行报告的费用。正在处理的条目会完成，不再开始新的条目"
    ),
    "budget_shared_warning": "{whose}的预算已花费 {share}%：{spent}，预算 {cap}",
    "budget_own_exceeded": (
        "预算已用完：已花费 {spent}，预算 {cap}，费用由处理程序自行报告。正在处理的条目会完成，不再开始新的条目"
    ),
    "budget_missing": "严格预算或允许未知费用的预算需要金额：请指明预算。",
    "budget_none": "任务 {task} 没有预算。请指明它可以花费的金额。[[设置预算：fanfold budget {task} --to 5.00]]",
    "budget_by_or_to": "预算可以增加一个金额，或设为一个金额：请只指明其中之一。",
    "budget_now": "预算现为 {cap}",
    "credits_amount": "{what}必须是 {least} 到 {most} 的整数；这里是 {value}。",
    "credits_no_items": "价格按条目计算，而任务提交时没有条目：条目由拆分产生。请在 `items` 中写出它们的键。",
    "credits_item_key": "{key!r} 不是条目的键，因此不能有价格。",
    "credits_too_many": "一个任务最多有 {most} 个条目可以有自己的价格；这里有 {count} 个。请改为给整个任务定价。",
    "credits_not_enough": (
        "需要 {price} 积分，而 {owner} 有 {balance}。什么都没有开始。[[发放积分：fanfold credits grant {owner} AMOUNT]]"
    ),
    "credits_again": "重做",
    "credits_repriced": "按另一价格重做",
    "credits_refunded": "未交付：任务状态为 {state:state}",
    "credits_refunded_deleted": "未交付：任务已删除",
    "credits_refunded_by_hand": "手动退还",
    "credits_none": "没有 {owner} 的账户。",
    "credits_foreign": "只有管理员可以发放、扣除、退还积分，或查看其他归属者的积分。",
    "credits_task_free": "任务 {task} 没有花费积分。",
    "credits_items_free": "任务 {task} 的这些条目没有花费积分：{items:,}。",
    "credits_key_reused": "{owner} 的键 {key} 属于另一条记录：{amount} 积分。",
    "costs_group": "费用不能按 {value} 汇总。可用的有：{known}。",
    "costs_time": "{value} 不是日期或时间：请写成 2026-11-17 或 2026-11-17T08:00:00+00:00。",
    "sample_count": "{value} 不是样本的条目数：请写 1 或更大的数。",
    "sample_set": "目前只处理 {count} 项样本",
    "sampled": "为估算处理了 {total} 项中的 {count} 项样本。继续任务即可处理其余部分",
    "estimate_no_calls": "不询问任何模型。",
    "estimate_no_model": "没有指明模型，因此无法估算。请指明提供方或模型。",
    "estimate_declared": "流水线声明了 {calls} 次调用。尚无测量结果：处理样本可得更准确的估算。",
    "estimate_declared_measured": "流水线声明了 {calls} 次调用；费用由之前的 {before} 次调用测得。",
    "estimate_history": "由此流水线和此模型之前的 {count} 项测得。",
    "estimate_sample": "由 {total} 项中的 {count} 项测得，它们已完成，结果已保存。",
    "estimate_sample_failed": "由 {total} 项中的 {count} 项测得，其中 {failed} 项失败；它们的费用已计入。",
    "estimate_sample_later": "{why:ended}不包括后续阶段的提问：{stages}。",
    "estimate_sample_unknown": "{count} 项样本没有产生价格已知的费用。",
    "estimate_price_unknown": "{model} 的价格未知。",
    "estimate_unknown": (
        "未知：{pipeline} 没有声明调用，也没有用 {model} 处理过可统计的条目。处理样本即可得知。[[例如：--sample 3]]"
    ),
    "estimate_failed": "未知：{why}",
    "budgets_unknown": "fanfold.toml 的 [budgets]：未知的 {names}。可用的有：{known}。",
    "budgets_no_table": "fanfold.toml：budgets.{name} 须为表：[budgets.{name}]",
    "budgets_period": "fanfold.toml 的 [budgets]：{value!r} 没有指明周期。可用 {known:or}，例如 '20 per day'。",
}
