"""What the server says, in Chinese."""

SENTENCES: dict[str, str] = {
    "no_wake_token": "没有使用此令牌的外部作业。",
    "cell_not_number": "这不是数字：{text}",
    "no_cell": "任务 {task} 的表格中，条目 {item} 第 {row} 行没有单元格 {column}。",
    "items_not_retried": "这些条目现在都不能重试：它们在等待、处理中，或已被重试。",
    "no_position": "任务 {task} 的 {stage} 中没有第 {position} 个条目。",
    "choose_model": "请先选择其他提供方或模型。",
    "too_many_undone": "未完成的条目超过 {most} 个：请改用另一个模型从头再来。",
    "too_many_named": "一次最多指明 {most} 个条目。",
    "no_result_yet": "任务 {task} 还没有结果。",
    "result_has_no": "任务 {task} 的结果中没有 {name}。{known}",
    "result_has": "可用的有：{names}。",
    "no_language": "没有语言 {language!r}。可用的有：{known}。",
    "choose_file": "请为 {pipeline} 至少选择一个文件。",
    "text_not_json": "这不是 JSON：{text}",
    "not_possible": "无法{command:word}：当前状态为{state:state}",
    "option_reserved": "选项中有保留的名称：不能使用 {first} 和 {second}。",
    "names_reserved": "名称 {first} 和 {second} 已保留；请用 `files` 给出文件。",
    "form_unreadable": "无法读取表单：{why}",
    "field_not_json": "字段 {name} 不是 JSON。",
    "said_too_long": (
        "输入、选项和元数据共 {length} 个字符；上限为 {limit}。它们会随任务一起显示。更大的内容请作为文件或条目给出。"
    ),
    "owner_not_allowed": "令牌 {token} 只能提交 {owner} 的任务，不能提交 {wanted} 的。",
    "no_pipeline": "此处没有流水线 {pipeline!r}。可用的有：{known}。[[添加：fanfold serve TARGET]]",
    "file_ending": "{pipeline} 接受以 {endings} 结尾的文件；此文件是 {file}。",
    "text_or_base64": "文件 {file} 需要 `text` 或 `base64` 之一。",
    "not_base64": "文件 {file} 不是 base64。",
    "item_key_text": "条目的键须为文本；此键为 {key}。",
    "token_invalid": "令牌无效。[[创建：fanfold tokens create NAME]]",
    "token_demanded": "此服务器需要令牌。[[创建：fanfold tokens create NAME]]",
    "only_look": "令牌 {token} 只能查看，不能更改：其角色为 {role}。",
    "needs_admin": "此操作需要 admin 角色；令牌 {token} 的角色为 {role}。",
    "all_owners": "此操作涉及所有归属者的任务；令牌 {token} 只能看到 {owner} 的。",
    "no_picture": "此条目没有图片。",
    "no_shown_picture": "此条目没有浏览器能显示的图片。",
    "too_many_pictures": "同时请求的图片过多。请稍后再试。",
    "picture_failed": "无法绘制图片：{why}",
    "picture_no_bytes": "流水线没有给出数据。",
    "commands_wait": "数据库繁忙：已有其他命令在等待。请稍后再试。",
    "files_unlocked": "已有其他文件正在解锁或解压。请稍后再试。",
    "forms_made": "已有其他格式正在生成。请稍后再试。",
    "no_space": (
        "服务器没有空间存放上传的文件{place}。请腾出空间，或让它使用另一个目录（TMPDIR），然后重新发送。此请求没"
        "有保留任何内容。"
    ),
    "in_folder": "（目录 {folder}）",
    "page_file_gone": "此任务的一个文件已不存在。",
    "named_file_gone": "文件 {file} 已不存在。",
    "unexpected": "发生了意料之外的错误。服务器日志中的标记为 {mark}。",
    "database_not_usable": "数据库暂时无法使用。原因见服务器日志。",
    "database_refused": "数据库拒绝了这个值。",
    "database_misfit": "数据库与此版本的 Fanfold 不符。",
    "database_damaged": "数据库已损坏。",
    "database_unreachable": "数据库暂时无法使用；服务器会继续尝试。",
    "database_way_out": "{what}{way}。",
    "read_only_file": (
        "无法写入数据库 {where}：当前用户对 {place} 只有读取权限。SQLite 要写入该文件及其旁边的日志。"
        "请恢复两者的权限，或把文件复制到自己的目录[[：--database sqlite:///COPY]]"
    ),
    "database_file_moved": (
        "数据库文件 {file} 在使用中被移走或替换。放回原处后会自动继续；要使用另一个文件，请重新启动。"
    ),
    "database_file_moved_public": "数据库文件在使用中被移走或替换。放回原处后会自动继续；要使用另一个文件，请重新启动。",
    "database_file_gone": (
        "数据库文件 {file} 被移走或删除；留下的有：{logs}。没有创建任何文件。请放回该文件。"
        "要新建数据库，请先停止所有使用旧数据库的进程，并删除它留下的文件。"
    ),
    "database_file_gone_public": "数据库文件被移走或删除。放回原处后会继续。",
    "database_file_unknown": (
        "数据库文件 {file} 被移走或删除：其任务的文件在 {folder} 中。没有创建任何文件。请放回该文件"
        "[[；要新建空数据库：fanfold db upgrade]]"
    ),
    "no_database_file": "没有数据库 {file}。[[创建：fanfold db upgrade]]",
    "log_removed": "数据库日志 {log} 在使用中被其他程序删除。正在重新打开；之后会自动继续。",
    "log_removed_public": "数据库日志在使用中被其他程序删除。正在重新打开；之后会自动继续。",
    "log_replaced": (
        "数据库日志 {file}-wal 在使用中被其他程序替换并写入。此处不再写入。请停止所有使用该数据库的进程并检查数据库，或恢复备份。"
    ),
    "log_replaced_public": "数据库日志在使用中被其他程序替换。",
    "database_error_refused": "数据库拒绝：{why}。",
    "database_error_misfit": "语句与数据库 {where} 的表不符：{why}。[[查看原因：fanfold doctor]]",
    "database_error_damaged": "数据库 {where} 已损坏：{why}。",
    "database_error_unreachable": "无法使用数据库 {where}：{why}。",
    "way_disk_full": "请在其磁盘上腾出空间；之后会自动继续",
    "way_read_only": "请让此账户能写入该文件及其目录；之后会自动继续",
    "way_disk_error": "其磁盘已满、只读或损坏：请查看系统日志",
    "way_not_opened": "其文件或目录已不存在，或此进程打开的文件过多（ulimit -n）",
    "way_open_files": "此进程打开的文件可能过多（ulimit -n）",
    "way_locked": "另一个进程持有写锁；请查看谁打开了该文件",
    "way_no_writes": "服务器不接受写入，例如在故障切换之后；恢复后会自动继续",
    "way_server_disk": "请在服务器的磁盘上腾出空间；之后会自动继续",
    "way_max_connections": "请提高 max_connections，或使用连接池",
    "way_connections": "请提高连接数上限，或使用连接池",
    "files_with_secret": (
        "文件地址（FANFOLD_FILES）中含有凭据，会进入日志和数据库。请通过环境变量 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY "
        "或机器的角色提供"
    ),
    "files_malformed": "文件地址（FANFOLD_FILES）不是存储桶地址。请写成：s3://bucket/prefix?endpoint=https://host",
    "files_unknown_part": "文件地址（FANFOLD_FILES）含有未知部分：{names}。已知的有：{known}",
    "files_endpoint": "文件地址（FANFOLD_FILES）中的 endpoint 不是网址。请写成：endpoint=https://host:port",
    "files_after_fork": "已使用过存储桶的进程 fork 出来的进程不能使用其中的文件。请用 in_child，或以 spawn 方式启动进程",
    "files_need_package": "使用存储桶需要另装一个包：pip install 'fanfold[s3]'。不设置 FANFOLD_FILES 时，文件存放在数据目录中",
    "files_unreachable": "文件存储桶 {place} 没有正常响应：{why}。",
    "files_unreachable_public": "文件存储桶现在不可用。工作进程会等待，之后继续。",
    "files_refused": (
        "文件存储桶 {place} 不可用：{why}。请检查名称，以及环境变量或机器提供的凭据（AWS_ACCESS_KEY_ID 等）；之后会自动继续"
    ),
    "bucket_missing": "没有存储桶 {bucket}",
    "files_unsafe": (
        "存储桶 {place} 的服务不支持 If-None-Match（仅在键未被占用时才写入文件）。被误认为已死的工作进程可能因此覆盖他人的结果。"
        "请使用支持条件写入的服务（Amazon S3、Cloudflare R2、MinIO、SeaweedFS 等），或不设置 FANFOLD_FILES，使用数据目录"
    ),
    "files_key_taken": "{place} 处已有另一个文件；没有覆盖任何内容。",
    "no_bucket_to_move_to": "没有指定要移到的存储桶。请指定一个[[（--to s3://bucket/prefix）]]，或设置 FANFOLD_FILES",
    "copy_differs": "{place} 中 {file} 的副本与文件不同。文件没有删除；请重新运行命令",
    "file_too_large_for_bucket": "存储桶中的文件最大为 {gigabytes:.0f} GB。",
    "folder_not_written": "无法写入数据目录 {folder}：{why}。",
    "folder_not_written_public": "无法写入数据目录：{why}。",
    "way_folder_full": "请在那里腾出空间；之后会自动继续",
    "way_folder_writable": "请让工作进程的账户能写入；之后会自动继续",
    "token_name": "{name!r} 不能作为令牌的名称：请用 1 到 100 个字母、数字以及 . @ - _",
    "no_role": "没有角色 {role!r}。可用的有：{known}。",
    "token_days": "令牌的有效期不能是 {days:g} 天；须大于 0 且不超过 36500。",
    "needs_timer": "令牌 {token} 的角色是 {role}：启动 tick 需要 timer 或 admin 角色。",
    "timer_only_ticks": "令牌 {token} 的角色是 timer：它只启动 tick，不能查看或更改其他内容。",
    "timer_sees_nothing": "timer 只启动 tick，因此没有归属者：请不要指定归属者。",
    "admin_sees_all": "admin 能看到所有归属者的任务：请不要指定归属者，或改用 member 角色。",
    "owner_too_long": "归属者最多 200 个字符。",
    "token_exists": "已有令牌 {name}。如要替换，请先撤销[[：fanfold tokens revoke {name}]]",
    "no_token": "没有令牌 {name}。[[查看：fanfold tokens list]]",
    "body_not_json": "请求体不是 JSON。",
    "body_no_object": "请求体须为 JSON 对象。",
    "database_silent": "数据库没有响应；服务器会继续尝试。",
    "foreign_origin": "请求来自其他网站的页面，不能在此更改任何内容。",
    "unknown_host": "此服务器不叫 {host}。请用其地址访问，或在设置 `allowed_hosts` 中允许此名称。",
    "request_too_large": "请求超过 {limit:size}。请一次少发一些。",
    "upload_too_large": "请求超过 {limit:size}。服务器管理者可以放宽：FANFOLD_UPLOAD_BYTES",
    "json_too_large": (
        "请求超过 {limit:size}，这是 JSON 的上限。请用 multipart/form-data 发送文件（上限 {most:size}），条目很多"
        "时请分成几个任务。"
    ),
    "rest_missing": "请求的其余部分没有到达：{seconds:.0f} 秒内收到 {bytes} 字节。请重新发送。",
}
