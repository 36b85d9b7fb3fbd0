"""Why a model gave no answer, in Chinese."""

SENTENCES: dict[str, str] = {
    "service_said": "{service} {said:ended}",
    "answered_status": "返回 {status}：{said}",
    "answered_error": "返回 200，但内容是错误：{said}",
    "reply_without_answer": "返回 200，但其中没有回答",
    "late": "在 {seconds:g} 秒内没有回答",
    "unreadable_answer": "返回的内容无法读取：{type}",
    "broke_off": "中断了连接",
    "short_of_files": "无法连接，因为本机可打开的文件数不足。{advice}",
    "not_reached": "无法连接（{address}）",
    "asked_to_wait": "要求等待",
    "needs_key": "{provider} 需要密钥。请在执行工作的环境中设置环境变量 {variable}。",
    "needs_library": "{provider} 需要的库没有安装：pip install 'fanfold[anthropic]'",
    "then_resume": "{why}然后继续任务。",
    "left_alone": "{why}它要求 {minutes:.0f} 分钟内不再请求。",
    "put_right": "{why}请先解决，然后继续任务。",
    "answer_not_taken": "{model} 的回答不能采用：{why:bare}。",
    "no_answer": "{reasons:;}。",
    "batch_refused": "{service} 拒绝了该批次：{said:ended}",
    "batch_may_be_ours": "有一个可能属于我们的批次 {job}；结束后才能辨认",
    "batch_question_changed": "处理函数提出的问题与上一次尝试不同，而上一次的问题已在批次中得到回答。"
    "批量通道中处理函数会从头再次调用，"
    '必须提出同样的问题：请不要在问题中使用时间或随机数，或使用 lane="live"。',
    "batch_not_there": "{why:ended} 该批次可能已在服务端被删除，或属于另一个密钥。Fanfold 会继续查找。"
    "如果已经丢失，请将任务改为立即提问，或取消任务；其中的问题会记为可能已付费",
    "batch_lost": "{why:ended} 其中的问题记为可能已付费",
    "batch_without_answer": "没有回答批次中的这个问题",
    "bad_duration": "“{value}”不是时间长度。请写秒数，或带单位的数字：90s、30m、6h、2d。",
    "answer_repeats": "它无休止地重复",
    "answer_cut_off": "它被截断",
    "answer_filtered": "被服务的过滤器拦下",
    "answer_empty": "它是空的",
    "answer_refuses": "模型拒绝：{text}",
    "no_model_to_ask": "{model} 不是可以询问的模型。可用的有：{known}。",
    "cost_unknown": "费用未知",
    "cost_unknown_paid": "费用未知，{count} 次未收到回答的调用可能已计费",
    "cost_possibly_paid": "{amount}，另有 {count} 次未收到回答的调用可能已计费",
    "no_default_model": "{provider} 没有默认模型。[[请指明：--model {provider}:MODEL]]",
    "no_provider": (
        "没有可询问的提供方 {provider!r}。可用的有：{known}。[[可在 fanfold.toml 的 [providers.{example}] 中添加。]]"
    ),
    "model_without_provider": (
        "{entry!r} 没有指明已知的提供方，也没有默认的提供方。可用的有：{known}。请用其中之一写成 PROVIDER:MODEL"
        "[[，或设置 {prefix!r}（fanfold.toml 的 [providers.{example}]），或在 FANFOLD_PROVIDER 中指明默认的提供方]]。"
    ),
    "provider_no_table": "fanfold.toml：providers.{provider} 须为表：[providers.{provider}]",
    "provider_name": "{provider!r} 不能作为提供方的名称：只用小写字母、数字、- 和 _，且不能是 {local!r}。",
    "variable_unknown": "{variable} 设置的内容未知。提供方有：{known}。",
    "key_written_down": '{where}：密钥不写在文件中。请说明存放它的变量：key_env = "MY_KEY"',
    "provider_fields_unknown": "{where}：未知的 {names}。提供方有：{known}。",
    "provider_kind": "{where}：kind 为 {kind!r}；可用 {known:or}。",
    "provider_address": "{where}：base_url 须以 http:// 或 https:// 开头",
    "provider_price": "{where}：price 为 {price!r}。自己的服务器请写 `{free}`，否则请写 price_input 和 price_output。",
    "provider_positive": "{where}：concurrency 和 timeout 须大于 0。",
    "limit_used_up": "暂不请求：限额 {limit} 已用完",
    "quota_spent": "今天的请求次数已用完",
    "models_no_table": "{where}：models 须为表，每个模型一个表。",
    "no_limit": "没有限额 {key!r}。可用的有：{known}。",
    "limit_seconds": "关闭限额的时间须大于 0 秒，最多 {most:g} 秒。",
    "provider_no_number": "{where}：{name} 为 {value}，不是数字。",
}
