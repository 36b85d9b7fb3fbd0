"""Guards that keep the server answerable and honest: threads, time limits, and what is told of a lost database."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

GUARD = "fanfold/server/guard.py"
LISTENING = "fanfold/server/listening.py"
THREADS = "fanfold/server/threads.py"
PROBLEMS = "fanfold/server/problems.py"
PATIENCE = "server/test_patience.py::"
MUTANTS = (
    mutant(
        "commands have threads of their own",
        Edit(THREADS, "            endpoint = _in_writer(endpoint)\n", "            pass\n"),
        test=PATIENCE + "test_a_command_that_gets_no_thread_is_refused_and_may_come_again",
    ),
    mutant(
        "the rest of a body is not waited for without an end",
        Edit(GUARD, "asyncio.timeout_at(began + BODY_SECONDS + got / BYTES_PER_SECOND)", "asyncio.timeout(None)"),
        test=PATIENCE + "test_half_a_body_ends_and_a_stream_does_not",
    ),
    mutant(
        "the rest of the headers is not waited for without an end",
        Edit(LISTENING, "self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)", "pass"),
        test=PATIENCE + "test_half_a_request_ends",
    ),
    mutant(
        "no answer tells where the database is",
        Edit(PROBLEMS, "    return error.public\n", "    return error.message\n"),
        test=PATIENCE + "test_nobody_is_told_where_the_database_is",
    ),
    mutant(
        "an upload without room is told as such",
        Edit(PROBLEMS, "        if error.errno in FULL:\n", "        if False:\n"),
        test=PATIENCE + "test_no_room_for_an_upload_is_told_with_a_way_out",
    ),
)
