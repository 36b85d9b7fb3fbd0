"""Guards of files in a bucket: written once, before the row, never removed while young, credentials never shown."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

BUCKET, OBJECTS = "fanfold/store/files/bucket.py", "fanfold/store/files/objects.py"
ERRORS, ADDRESS = "fanfold/store/files/bucket_errors.py", "fanfold/store/files/address.py"
SWEEP, KEPT = "fanfold/engine/tasks/recovery/sweep.py", "fanfold/engine/handlers/files/kept_files.py"
TESTS, ENGINE = "store/test_buckets.py", "engine/test_files_in_a_bucket.py"
MUTANTS = (
    mutant(
        "an object is created only if its key is free",
        Edit(OBJECTS, 'mode="create", attributes=attributes', 'mode="overwrite", attributes=attributes'),
        test=f"{TESTS}::test_a_key_is_written_only_once[5]",
    ),
    mutant(
        "an upload in parts takes its key first",
        Edit(BUCKET, "            self._take_key(key)\n", ""),
        test=f"{TESTS}::test_a_key_is_written_only_once[8388608]",
    ),
    mutant(
        "a service that ignores conditions is refused",
        Edit(
            BUCKET,
            "if self._objects.is_created(path, content) and self._objects.is_created(path, content):",
            "if False:",
        ),
        test=f"{TESTS}::test_a_service_that_ignores_conditions_is_refused",
    ),
    mutant(
        "an address with credentials is refused",
        Edit(ADDRESS, 'return "@" in endpoint or "?" in endpoint', "return False"),
        test=f"{TESTS}::test_an_address_with_a_secret_or_a_mistake_is_refused_without_quoting_it",
    ),
    mutant(
        "files in a bucket are refused after a fork",
        Edit(OBJECTS, "if process != os.getpid():", "if False:"),
        test=f"{TESTS}::test_a_forked_process_refuses_the_files_instead_of_hanging",
    ),
    mutant(
        "only S3 says that a file is missing",
        Edit(ERRORS, "if not code and NOT_FROM_S3.search(str(error)):", "if False:"),
        test=f"{TESTS}::test_a_page_of_something_before_the_service_is_not_taken_for_its_answer[10]",
    ),
    mutant(
        "a problem of the bucket does not keep the client's error",
        Edit(ERRORS, "        problem = _problem(address, error)\n", "        raise _problem(address, error)\n"),
        test=f"{TESTS}::test_problems_name_neither_credentials_nor_their_ids[403]",
    ),
    mutant(
        "an upload in parts whose last answer got lost counts",
        Edit(BUCKET, "if not is_read or self.size(key) != size:", "if True:"),
        test=f"{TESTS}::test_requests_that_were_done_though_their_answers_got_lost_count",
    ),
    mutant(
        "a hint that the carrier knows to be lost is replaced",
        Edit("fanfold/carriers/dispatch.py", "            tx.hints.end(dead)\n", ""),
        test="carriers/test_dispatch.py::test_a_hint_that_the_carrier_knows_to_be_lost_is_replaced_at_once[sqlite]",
    ),
)
