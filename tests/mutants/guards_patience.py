"""Guards that keep the server responsive and honest: threads, time limits, and reports of a lost database."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

GUARD, LISTENING, THREADS = (
    "fanfold/server/requests/guard.py",
    "fanfold/server/requests/listening.py",
    "fanfold/server/threads/database_threads.py",
)
ANSWERS, PROBLEMS, LIVE = (
    "fanfold/server/requests/conditional.py",
    "fanfold/server/requests/problems.py",
    "fanfold/server/watching/live.py",
)
SETTLEMENT = "fanfold/engine/worker/attempt/attempt_result.py"
BLANKING = "fanfold/engine/redaction.py"
BLOBS = "fanfold/store/files/folder.py"
SQLITE, READER, TASKS = (
    "fanfold/store/dialects/sqlite_parts/sqlite_file.py",
    "fanfold/engine/queries/tasks.py",
    "fanfold/store/rows/tasks.py",
)
DETAILS = "fanfold/engine/queries/web_queries.py"
PATIENCE = "server/test_patience.py::"
MUTANTS = (
    mutant(
        "commands have threads of their own",
        Edit(THREADS, "            endpoint = _in_writer(endpoint)\n", "            pass\n"),
        test=PATIENCE + "test_a_command_that_gets_no_thread_is_refused_and_may_come_again",
    ),
    mutant(
        "the rest of a body is not awaited forever",
        Edit(GUARD, "asyncio.timeout_at(began + BODY_SECONDS + got / BYTES_PER_SECOND)", "asyncio.timeout(None)"),
        test=PATIENCE + "test_half_a_body_ends_and_a_stream_does_not",
    ),
    mutant(
        "the rest of the headers is not awaited forever",
        Edit(LISTENING, "self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)", "pass"),
        test=PATIENCE + "test_half_a_request_ends",
    ),
    mutant(
        "no response reveals where the database is",
        Edit(PROBLEMS, "    return error.public or ", "    return error.message or "),
        test=PATIENCE + "test_nobody_is_told_where_the_database_is",
    ),
    mutant(
        "an upload that does not fit on the disk is reported as such",
        Edit(PROBLEMS, "        if error.errno in FULL:\n", "        if False:\n"),
        test=PATIENCE + "test_no_room_for_an_upload_is_told_with_a_way_out",
    ),
    mutant(
        "what follows the headers is not made for HEAD",
        Edit(ANSWERS, "        answer.ended.add_done_callback(lambda _: making.cancel())\n", ""),
        test="server/test_answers.py::test_what_follows_the_headers_is_not_made_for_head",
    ),
    mutant(
        "only the same content is not sent again",
        Edit(ANSWERS, 'return known == "*" or bare(etag) in [bare(one) for one in known.split(",")]', "return True"),
        test="server/test_answers.py::test_what_a_client_has_already_is_not_sent_again",
    ),
    mutant(
        "open pages show that the database is lost",
        Edit(LIVE, "            if (lost is None) != (told is None):\n", "            if False:\n"),
        test="server/test_live.py::test_watchers_are_told_that_the_database_is_lost_and_back",
    ),
    mutant(
        "a database that does not answer counts as lost",
        Edit(LIVE, "is_silent = since is not None and time.monotonic() - since > SILENT_SECONDS", "is_silent = False"),
        test="server/test_live.py::test_a_look_that_does_not_end_is_a_lost_database",
    ),
    mutant(
        "a key that is quoted from outside is not kept",
        Edit(SETTLEMENT, "plain = without_keys(text)", "plain = text"),
        test="engine/test_blanking.py::test_a_quoted_key_is_kept_nowhere",
    ),
    mutant(
        "a key is not logged",
        Edit(
            BLANKING, "        return without_keys(super().format(record))\n", "        return super().format(record)\n"
        ),
        test="engine/test_blanking.py::test_a_key_is_blanked_in_log_lines_and_tracebacks",
    ),
    mutant(
        "a blob is readable only by the account that runs Fanfold",
        Edit(BLOBS, 'open(path, "wb", opener=opener)', 'open(path, "wb")'),
        test="store/test_private.py::test_everything_that_is_kept_is_private",
    ),
    mutant(
        "the database file is readable only by the account that runs Fanfold",
        Edit(SQLITE, "            private_file(self.file)\n", "            self.file.touch()\n"),
        Edit(SQLITE, "            tighten_all(self.file)\n", "            pass\n"),
        test="store/test_private.py::test_everything_that_is_kept_is_private",
    ),
    mutant(
        "a cursor names a place and not a task",
        Edit(
            READER,
            "        if number is not None and (updated_at is not None or sort != TaskOrder.UPDATED):\n",
            "        if False:\n",
        ),
        test="server/test_tasks.py::test_a_cursor_survives_the_deletion_of_its_task",
    ),
    mutant(
        "a task with degraded results needs a person",
        Edit(TASKS, "for why in (rests, marked, held, refused)]", "for why in (rests, held)]"),
        test="server/test_honest.py::test_what_is_degraded_is_told_in_list_head_and_among_what_needs_a_person",
    ),
    mutant(
        "the grid marks degraded items",
        Edit(DETAILS, "            letters[position] = DEGRADED_LETTER\n", "            pass\n"),
        test="server/test_honest.py::test_the_grid_marks_what_is_degraded",
    ),
)
