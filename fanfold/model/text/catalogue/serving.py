"""Sentences of the server to a browser or a program."""

SENTENCES: dict[str, str] = {
    "no_wake_token": "No external job has this token.",
    "cell_not_number": "This is not a number: {text}",
    "no_cell": "The table of task {task} has no cell {column} in row {row} of item {item}.",
    "items_not_retried": (
        "None of these items can be retried now: they are pending, running, or were retried meanwhile."
    ),
    "no_position": "Task {task} has no item at position {position} of {stage}.",
    "choose_model": "Choose another provider or model first.",
    "too_many_undone": "More than {most} items are not done: start over with the other model instead.",
    "too_many_named": "At most {most} items can be named at once.",
    "no_result_yet": "Task {task} has no result yet.",
    "result_has_no": "The result of task {task} has no {name}.{known}",
    "result_has": " It has: {names}.",
    "no_language": "Unknown language {language!r}. Use one of: {known}.",
    "choose_file": "Choose at least one file for {pipeline}.",
    "text_not_json": "This is not JSON: {text}",
    "not_possible": "{command:word} is not possible: the task is {state:state}",
    "option_reserved": "A name in the options is reserved: {first} and {second} cannot be used.",
    "names_reserved": "The names {first} and {second} are reserved; give files as `files`.",
    "form_unreadable": "The form cannot be read: {why}",
    "field_not_json": "The field {name} is not JSON.",
    "said_too_long": (
        "Inputs, options and metadata together are {length} characters long; the limit is {limit}. They are shown"
        " with the task everywhere. Give larger data as a file, or as items."
    ),
    "owner_not_allowed": "The token {token} can submit tasks only for {owner}, not for {wanted}.",
    "no_pipeline": "Unknown pipeline {pipeline!r}. Known pipelines: {known}.[[ To add one: fanfold serve TARGET]]",
    "file_ending": "{pipeline} takes files that end with {endings}; this one is {file}.",
    "text_or_base64": "The file {file} needs either `text` or `base64`.",
    "not_base64": "The file {file} is not base64.",
    "item_key_text": "The key of an item is text; this one is {key}.",
    "token_invalid": "The token is not valid.[[ Make one: fanfold tokens create NAME]]",
    "token_demanded": "This server requires a token.[[ Make one: fanfold tokens create NAME]]",
    "only_look": "The token {token} is read-only: its role is {role}.",
    "needs_admin": "This needs the role admin; the token {token} has the role {role}.",
    "all_owners": "This is about the tasks of all owners; the token {token} sees those of {owner}.",
    "no_picture": "This item has no picture.",
    "no_shown_picture": "This item has no picture that a browser can show.",
    "too_many_pictures": "Too many pictures are requested at once. Try again in a moment.",
    "picture_failed": "The picture cannot be drawn: {why}",
    "picture_no_bytes": "the pipeline gave no bytes.",
    "commands_wait": "The database is busy: other commands are already waiting for it. Try again in a moment.",
    "files_unlocked": "Other files are being unlocked or unpacked. Try again in a moment.",
    "forms_made": "Other forms are being made. Try again in a moment.",
    "no_space": (
        "The server has no space left for uploads{place}. Free some there, or have it use another folder "
        "(TMPDIR), then send it again. Nothing of this request was stored."
    ),
    "in_folder": " in {folder}",
    "page_file_gone": "A file of this task is no longer there.",
    "named_file_gone": "The file {file} is no longer there.",
    "unexpected": "Unexpected error. Search the server's log for {mark}.",
    "database_not_usable": "The database cannot be used right now. The server's log says why.",
    "database_refused": "The database refused this value.",
    "database_misfit": "The database does not fit this version of Fanfold.",
    "database_damaged": "The database is damaged.",
    "database_unreachable": "The database cannot be used right now; the server keeps trying.",
    "database_way_out": "{what} {way}.",
    "read_only_file": (
        "The database {where} cannot be written to: {place} is read-only for this user. SQLite writes to the file and "
        "to its log beside it. Make both writable again, or copy the file to a folder of your own[[: --database "
        "sqlite:///COPY]]"
    ),
    "database_file_moved": (
        "The database file {file} was moved or replaced while in use. Put it back, and work resumes by itself; to use another "
        "file, restart Fanfold."
    ),
    "database_file_moved_public": (
        "The database file was moved or replaced while in use. Put it back, and work resumes by itself; to use another file, "
        "restart Fanfold."
    ),
    "database_file_gone": (
        "The database file {file} was moved or removed; still there: {logs}. Nothing was created. Put the file back. To begin "
        "a new database instead, stop all processes that use the old one and remove what is still there."
    ),
    "database_file_gone_public": "The database file was moved or removed. Put it back, and work resumes.",
    "database_file_unknown": (
        "The database file {file} was moved or removed: files of its tasks are in {folder}. Nothing was created. "
        "Put the file back[[; to begin a new, empty database: fanfold db upgrade]]"
    ),
    "no_database_file": "There is no database {file}.[[ To create it: fanfold db upgrade]]",
    "log_removed": (
        "Another program removed the database log {log} while it was in use. Fanfold opens a new one, and work resumes by "
        "itself."
    ),
    "log_removed_public": (
        "Another program removed the database log while it was in use. Fanfold opens a new one, and work resumes by itself."
    ),
    "log_replaced": (
        "Another program replaced the database log {file}-wal while it was in use, and wrote to it. Fanfold writes nothing "
        "more to it from here. Stop all processes that use the database and check it, or restore a backup."
    ),
    "log_replaced_public": "Another program replaced the database log while it was in use.",
    "database_error_refused": "The database refused: {why}.",
    "database_error_misfit": (
        "A statement does not fit the tables of the database {where}: {why}.[[ To see what is wrong: fanfold doctor]]"
    ),
    "database_error_damaged": "The database {where} is damaged: {why}.",
    "database_error_unreachable": "Cannot use the database {where}: {why}.",
    "way_disk_full": "Free some space on its disk; work then resumes by itself",
    "way_read_only": "Make the file and its folder writable for this account; work then resumes by itself",
    "way_disk_error": "Its disk is full, read-only or broken: look at the system's log",
    "way_not_opened": "Its file or folder is gone, or this process has too many open files (ulimit -n)",
    "way_open_files": "This process may have too many open files (ulimit -n)",
    "way_locked": "Another process holds its write lock; see who has the file open",
    "way_no_writes": "The server refuses writes, as after a failover; work resumes by itself when it accepts them again",
    "way_server_disk": "Free some space on the server's disk; work then resumes by itself",
    "way_max_connections": "Raise max_connections, or use a pooler",
    "way_connections": "Raise the connection limit, or use a pooler",
    "files_with_secret": (
        "The address of the files (FANFOLD_FILES) contains credentials, which would end up in logs and in the database. Give "
        "them in the environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by the role of the machine"
    ),
    "files_malformed": (
        "The address of the files (FANFOLD_FILES) is not one of a bucket. Write: s3://bucket/prefix?endpoint=https://host"
    ),
    "files_unknown_part": "The address of the files (FANFOLD_FILES) has unknown parts: {names}. Known: {known}",
    "files_endpoint": (
        "The endpoint in the address of the files (FANFOLD_FILES) is not a URL. Write: endpoint=https://host:port"
    ),
    "files_after_fork": (
        "Files in a bucket cannot be used in a process forked from one that has used them. Use in_child, or start the process "
        "with spawn"
    ),
    "files_need_package": (
        "Files in a bucket need a package more: pip install 'fanfold[s3]'. Without FANFOLD_FILES, files are stored in the data "
        "folder"
    ),
    "files_unreachable": "The bucket of the files, {place}, does not answer as it should: {why}.",
    "files_unreachable_public": "The bucket of the files cannot be used now. Workers wait for it, and then continue.",
    "files_refused": (
        "The bucket of the files, {place}, cannot be used: {why}. Check its name, and the credentials in the environment or of "
        "the machine (AWS_ACCESS_KEY_ID and others); work then resumes by itself"
    ),
    "bucket_missing": "there is no bucket {bucket}",
    "files_unsafe": (
        "The service of the bucket {place} does not support If-None-Match, which lets a file be written only if its key is "
        "free. A worker that is believed dead could overwrite the results of another. Use a service with conditional writes "
        "(Amazon S3, Cloudflare R2, MinIO, SeaweedFS …), or the data folder: leave FANFOLD_FILES empty"
    ),
    "files_key_taken": "There is another file at {place} already; nothing was overwritten.",
    "no_bucket_to_move_to": "No bucket to move the files to. Name one[[ with --to s3://bucket/prefix]], or set FANFOLD_FILES",
    "copy_differs": "The copy of {file} in {place} differs from the file. The file was not removed; run the command again",
    "file_too_large_for_bucket": "A file in a bucket has at most {gigabytes:.0f} GB.",
    "folder_not_written": "Cannot write to the data folder {folder}: {why}.",
    "folder_not_written_public": "Cannot write to the data folder: {why}.",
    "way_folder_full": "Free some space there; work then resumes by itself",
    "way_folder_writable": "Make it writable for the account of the workers; work then resumes by itself",
    "token_name": "{name!r} cannot name a token: use 1 to 100 letters, digits, and . @ - _",
    "no_role": "Unknown role {role!r}. Use one of: {known}.",
    "token_days": "A token cannot be valid for {days:g} {days:day|days}; use more than 0 and at most 36500.",
    "needs_timer": "Token {token} is a {role}: starting a tick needs the role timer or admin.",
    "timer_only_ticks": "Token {token} is a timer: it starts ticks, and sees and changes nothing else.",
    "timer_sees_nothing": "A timer only starts ticks, so it has no owner: leave the owner out.",
    "admin_sees_all": "An admin sees the tasks of all owners: leave the owner out, or give the role member.",
    "owner_too_long": "An owner's name has at most 200 characters.",
    "token_exists": (
        "There is already a token {name}. To replace it, revoke it first[[: fanfold tokens revoke {name}]]"
    ),
    "no_token": "There is no token {name}.[[ To see them: fanfold tokens list]]",
    "body_not_json": "The body is not JSON.",
    "body_no_object": "The body must be a JSON object.",
    "database_silent": "The database does not answer; the server keeps trying.",
    "foreign_origin": "The request came from a page of another site, which may not change anything here.",
    "unknown_host": (
        "This server does not accept the host name {host}. Use its address, or allow the name (setting "
        "`allowed_hosts`)."
    ),
    "request_too_large": "The request is larger than {limit:size}. Send less at once.",
    "upload_too_large": (
        "The request is larger than {limit:size}. The server's operator can raise the limit: FANFOLD_UPLOAD_BYTES"
    ),
    "json_too_large": (
        "The request is larger than {limit:size}, the limit for JSON. Send files as multipart/form-data (up to "
        "{most:size}), and many items as several tasks."
    ),
    "rest_missing": "The request was incomplete: {bytes} {bytes:byte|bytes} in {seconds:.0f} s. Send it again.",
}
