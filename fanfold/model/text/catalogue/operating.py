"""What the doctor finds, and what to do about it."""

SENTENCES: dict[str, str] = {
    "none": "none",
    "none_left_over": "none left over",
    "start_database": "Start it, or name another one in FANFOLD_DATABASE.",
    "sqlite_version": "version {version}",
    "sqlite_unsafe": "version {version} has a bug that can corrupt the file",
    "sqlite_advice": (
        "Several processes on one file are at risk: use a Python with SQLite {safe}, install pysqlite3, or use PostgreSQL."
    ),
    "pooled": "transactions share connections; nothing is prepared",
    "no_notifications": "none behind a pooler: idle workers look for work every {seconds:g} s",
    "direct_database": "Give a URL without the pooler: FANFOLD_DIRECT_DATABASE",
    "notifications_arrive": "arrive",
    "notifications_lost": "do not arrive within {seconds:g} s: workers look every few seconds only",
    "revision": "revision {revision}",
    "revision_ahead": "revision {revision}, newer than this Fanfold ({newest}), which can go on with it",
    "database_empty": "the database is empty",
    "database_made": "Its tables are made at first use.",
    "revision_behind": "revision {revision}, this version needs {newest}",
    "run_upgrade": "The tables have to be upgraded.",
    "revision_unknown": "revision {revision} is newer than this Fanfold",
    "upgrade_fanfold": "Upgrade Fanfold on this machine.",
    "clocks_apart": "{seconds:.1f} s apart from the database's",
    "set_clocks": "Set the clocks by NTP; leases are safe, but times will look odd.",
    "workers_alive": "{count} alive",
    "workers_alive_lost": "{count} alive, {lost} lost",
    "all_served": "active tasks: {count}, all of them served",
    "not_all_served": "active tasks that no worker serves: {count}",
    "start_worker": "Nobody serves {places}. Start a worker for it, or let a timer run ticks.",
    "tasks_held": "active tasks with items that wait for a person: {count}",
    "see_held": "Look at them: each says why it waits.",
    "tasks_needing": "{count} in all, {needing} for a person to look at",
    "look_at_them": "A person should look at them.",
    "no_task_waits": "{count} in all, none waits for a person",
    "tasks_stopped": "{states}",
    "tasks_stopped_needing": "{states}; {needing} for a person to look at",
    "tasks_in_state": "{count} {state:word}",
    "folder_unwritable": "{folder} cannot be written to: {why}",
    "give_folder": "Name another one in FANFOLD_DATA.",
    "folder_new": "{folder} (made at first use)",
    "disk_free": "{gigabytes:.1f} GB free",
    "make_room": "Make room: remove old finished tasks with their files, for example.",
    "swept": "last run {seconds:.0f} s ago",
    "nobody_to_sweep": "no worker to run it",
    "nobody_sweeps": "no living worker sweeps: {workers}",
    "some_do_not_sweep": "some living workers do not sweep: {workers}",
    "worker_late": "{worker} ({seconds:.0f} s)",
    "restart_sweep": 'Look for "sweep failed" in their log, then restart them. Meanwhile, a tick recovers what is lost.',
    "items_abandoned": "{count} {count:runs|run} under a worker that is gone",
    "items_hanging": "{count} {count:is far past its time limit|are far past their time limit}",
    "tasks_unclosed": "{count} {count:has ended its stage and was|have ended their stage and were} not moved on",
    "permits_stale": "{count} {count:belongs to an item that no longer runs|belong to items that no longer run}",
    "no_worker_lives": "No worker lives. Start one, and it puts this right at once.",
    "worker_will_mend": "A worker puts this right within {seconds:g} s. If it is still here then, look at its log",
    "workers_do_not_mend": (
        "{count} {count:living worker has|living workers have} not put this right for {seconds:.0f} s or more: look for "
        '"sweep failed" in their log, and restart them. Meanwhile, a tick recovers what is lost.'
    ),
    "orphaned_rows": "{rows}",
    "rows_of_table": "{count} {table}",
    "report_orphans": "They take up space and change nothing. Please report it with what the log says of deleted tasks",
    "deletions_late": "{count} {count:deleted task is|deleted tasks are} not yet removed after {hours:g} h",
    "removed_by_sweep": "A worker removes them bit by bit with its sweep: see that one runs, and look for sweep in its log",
    "folder_own": "{folder}: only of this database",
    "folder_shared": "{folder} is also the data folder of {databases}",
    "separate_folders": (
        "Nothing is lost by it, but old files stay. Give each database a folder of its own (FANFOLD_DATA), or remove the mark "
        "of one that is gone from the folder databases/"
    ),
    "orphaned_files": (
        "{blobs} {blobs:blob|blobs} that no row names, {scratch} {scratch:scratch file|scratch files} of attempts that are over"
    ),
    "removed_by_cleaning": (
        "A worker's hourly cleaning removes them: see that one runs, and look for cleaning in its log ({folder})"
    ),
}
