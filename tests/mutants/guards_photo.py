"""Guards of pictures: what is paid once, and what is published."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

GENERATING = "fanfold/apps/photo/steps/generating.py"
REQUESTS, COMFYUI = "fanfold/apps/photo/services/requests.py", "fanfold/apps/photo/services/comfyui.py"
PUBLISHING, CHECKING = "fanfold/apps/photo/output/publishing.py", "fanfold/apps/photo/inputs/checking.py"
SERVICE = "fanfold/apps/photo/services/service.py"
PAID = "apps/photo/test_paid_pictures.py"
TESTS, MARKS = "apps/photo/test_pipeline.py", "apps/photo/test_marking.py"

MUTANTS = (
    mutant(
        "a gateway error after a start is an unknown outcome",
        Edit(REQUESTS, "if 400 <= reply.status < 500 and", "if 400 <= reply.status < 600 and"),
        by="sqlite",
        test=f"{TESTS}::test_an_unknown_outcome_is_cleared_up_by_asking_the_service",
    ),
    mutant(
        "a picture is withheld at most twice",
        Edit(GENERATING, 'not in (None, job["id"])', "is Ellipsis"),
        by="sqlite",
        test=f"{TESTS}::test_moderation_gets_one_more_job_and_partial_success_delivers_what_there_is",
    ),
    mutant(
        "a job that a paid service has forgotten is not started again",
        Edit(
            SERVICE,
            'return ff.Permanent(say_of_photo("forgotten"',
            'return ff.JobFailed(say_of_photo("forgotten"',
        ),
        by="sqlite",
        test=f"{TESTS}::test_a_forgotten_job_is_paid_once_and_a_free_one_is_started_again",
    ),
    mutant(
        "the key of a service goes to no other host",
        Edit(REQUESTS, "if not self._is_own(path):", "if False:"),
        by="sqlite",
        test=f"{PAID}::test_the_key_of_a_service_goes_to_no_other_host",
    ),
    mutant(
        "a late picture of the same order is not ordered again",
        Edit(GENERATING, 'behind.get("order") == self._digest()', "False"),
        by="sqlite",
        test=f"{PAID}::test_a_late_picture_of_the_same_order_is_not_ordered_again",
    ),
    mutant(
        "a picture without its label is not published",
        Edit(PUBLISHING, 'if not kind or fields.get("Label") != "1":', "if False:"),
        by="sqlite",
        test=f"{MARKS}::test_a_picture_is_private_until_it_is_checked_and_has_a_stable_name",
    ),
    mutant(
        "an input picture is sent without its metadata",
        Edit(CHECKING, "    save_plain(upright, path)\n", "    path.write_bytes(content)\n"),
        by="sqlite",
        test="apps/photo/test_inputs.py::test_metadata_goes_and_the_picture_is_turned_upright",
    ),
)
