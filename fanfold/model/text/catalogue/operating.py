"""Sentences of the doctor: what it found, and what to do about it."""

SENTENCES: dict[str, str] = {
    "sqlite_ephemeral": (
        "{file} is on the disk of {platform}, which is lost with this instance, and other instances do not see it. Use "
        "PostgreSQL (FANFOLD_DATABASE=postgresql://…), or a mounted disk under /mnt."
    ),
    "none": "none",
    "none_left_over": "none left over",
    "start_database": "Start it, or name another one in FANFOLD_DATABASE.",
    "sqlite_version": "version {version}",
    "sqlite_unsafe": "version {version} has a bug that can corrupt the file",
    "sqlite_advice": (
        "Several processes on one file are at risk: use a Python with SQLite {safe}, install pysqlite3, or use PostgreSQL."
    ),
    "pooled": "transactions share connections; no prepared statements",
    "no_notifications": "none behind a pooler: idle workers poll every {seconds:g} s",
    "direct_database": "Give a URL without the pooler: FANFOLD_DIRECT_DATABASE",
    "notifications_arrive": "arrive",
    "notifications_lost": "do not arrive within {seconds:g} s: workers only poll every few seconds",
    "revision": "revision {revision}",
    "revision_ahead": "revision {revision}, newer than this Fanfold ({newest}), which can still use it",
    "database_empty": "the database is empty",
    "database_made": "Its tables are created at first use.",
    "revision_behind": "revision {revision}, this version needs {newest}",
    "run_upgrade": "The tables must be upgraded.",
    "revision_unknown": "revision {revision} is newer than this Fanfold",
    "upgrade_fanfold": "Upgrade Fanfold on this machine.",
    "clocks_apart": "{seconds:.1f} s off the database's clock",
    "set_clocks": "Synchronise the clocks with NTP; leases are safe, but times will look odd.",
    "workers_alive": "{count} alive",
    "workers_alive_lost": "{count} alive, {lost} lost",
    "all_served": "active tasks: {count}, all of them served",
    "not_all_served": "active tasks that no worker serves: {count}",
    "start_worker": "No worker serves {places}. Start one, or run ticks from a timer.",
    "tasks_held": "active tasks with items that wait for a person: {count}",
    "see_held": "Look at them: each says why it waits.",
    "tasks_needing": "{count} in total, {needing} {needing:needs|need} a person",
    "look_at_them": "A person should look at them.",
    "no_task_waits": "{count} in total, none waits for a person",
    "tasks_stopped": "{states}",
    "tasks_stopped_needing": "{states}; {needing} {needing:needs|need} a person",
    "tasks_in_state": "{count} {state:state}",
    "folder_unwritable": "{folder} cannot be written to: {why}",
    "give_folder": "Name another one in FANFOLD_DATA.",
    "folder_new": "{folder} (created at first use)",
    "disk_free": "{gigabytes:.1f} GB free",
    "make_room": "Free some space, for example by removing old finished tasks with their files.",
    "swept": "last run {seconds:.0f} s ago",
    "nobody_to_sweep": "no worker to run it",
    "nobody_sweeps": "no live worker sweeps: {workers}",
    "some_do_not_sweep": "some live workers do not sweep: {workers}",
    "worker_late": "{worker} ({seconds:.0f} s)",
    "restart_sweep": 'Look for "sweep failed" in their log, then restart them. Meanwhile, a tick recovers what is lost.',
    "redis_answers": "Redis at {address} answers; it carries streamed output",
    "redis_silent": "Redis at {address} does not answer ({why}); streamed output is read from the database",
    "start_redis": "Start Redis, or correct FANFOLD_STREAMS",
    "items_abandoned": "{count} {count:runs|run} under a worker that is gone",
    "items_hanging": "{count} {count:is far past its time limit|are far past their time limit}",
    "tasks_unclosed": "{count} {count:has finished its stage but was|have finished their stage but were} not advanced",
    "permits_stale": "{count} {count:belongs to an item that no longer runs|belong to items that no longer run}",
    "no_worker_lives": "No worker is alive. Start one, and it fixes this at once.",
    "worker_will_mend": "A worker fixes this within {seconds:g} s. If it is still there after that, look at its log",
    "workers_do_not_mend": (
        "{count} {count:live worker has|live workers have} not fixed this for {seconds:.0f} s or more: look for "
        '"sweep failed" in their log, and restart them. Meanwhile, a tick recovers what is lost.'
    ),
    "orphaned_rows": "{rows}",
    "rows_of_table": "{count} {table}",
    "report_orphans": "They only take up space. Please report them, with the lines of the log about deleted tasks",
    "deletions_late": "{count} {count:deleted task is|deleted tasks are} not yet removed after {hours:g} h",
    "removed_by_sweep": 'The sweep of a worker removes them bit by bit: check that one runs, and look for "sweep" in its log',
    "folder_own": "{folder}: used only by this database",
    "folder_shared": "{folder} is also the data folder of {databases}",
    "separate_folders": (
        "Nothing is lost, but old files stay. Give each database its own folder (FANFOLD_DATA), or remove "
        "from the folder databases/ the mark of a database that no longer exists"
    ),
    "bucket_usable": "{place}: answers, is writable, and never overwrites",
    "bucket_unusable": "{why}",
    "bucket_clock": "{seconds:.0f} s off the bucket's clock",
    "bucket_clock_advice": "Synchronise the clocks with NTP: a service refuses requests that are 15 minutes off.",
    "bucket_fix": "Start it, or correct FANFOLD_FILES or the credentials in the environment.",
    "files_elsewhere": "new files go to {here}, but this installation also uses {others}",
    "files_elsewhere_advice": (
        "Other machines do not see files in a folder of this one. Set FANFOLD_FILES for every process, or bring the files along:"
    ),
    "files_to_move": "{count} {count:file is|files are} still in {folder}; new ones go to {place}",
    "move_advice": "They are found in both places. Bring them to the bucket:",
    "orphaned_files": (
        "{blobs} {blobs:blob|blobs} that no row names, {scratch} {scratch:scratch file|scratch files} of attempts that are over"
    ),
    "removed_by_cleaning": (
        "A worker's hourly cleaning removes them: check that one runs, and look for 'cleaning' in its log ({folder})"
    ),
}
