"""Guards of files in a bucket: written once, before the row, never removed while young, credentials never shown."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

BUCKET, OBJECTS = "fanfold/store/files/bucket.py", "fanfold/store/files/objects.py"
ERRORS, ADDRESS = "fanfold/store/files/bucket_errors.py", "fanfold/store/files/address.py"
SWEEP, KEPT = "fanfold/engine/tasks/recovery/sweep.py", "fanfold/engine/handlers/kept_files.py"
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
)
