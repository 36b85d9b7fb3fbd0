"""Guards of the server: who may see and change what, which requests are refused, what is never shown."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

WORK = "fanfold/engine/handlers/work.py"
ACCESS, GUARD, PLACE = (
    "fanfold/server/requests/authentication.py",
    "fanfold/server/requests/guard.py",
    "fanfold/server/app_state.py",
)
SECRETS, SUBMITTING, LOGIN = (
    "fanfold/server/requests/hiding.py",
    "fanfold/server/api/submitting.py",
    "fanfold/server/web/login_page.py",
)
CLIENT, READER = "fanfold/engine/client.py", "fanfold/engine/queries/tasks.py"
PAGE_QUERIES = "fanfold/engine/queries/web_queries.py"
TASKS, TOKENS, TOKEN_ROWS = "fanfold/store/rows/tasks.py", "fanfold/engine/tokens.py", "fanfold/store/rows/tokens.py"
BLOBS = "fanfold/store/files/folder.py"
LISTS = "server/test_access.py::test_lists_counts_labels_and_bulk_commands_are_those_of_the_owner"
FOREIGN = "server/test_guard.py::test_a_page_of_another_site_changes_nothing"
OWNER_MUTANTS = (
    mutant(
        "a task is found only for its owner",
        Edit(TASKS, "            found = found.where(tasks.c.owner == owner)\n", "            pass\n"),
        test="server/test_access.py::test_no_route_shows_or_touches_the_task_of_another_owner",
    ),
    mutant(
        "a client of the server sees the tasks of its owner",
        Edit(
            ACCESS, "place_of(request).client(access.owner, access.name)", "place_of(request).client(None, access.name)"
        ),
        test="server/test_access.py::test_no_route_shows_or_touches_the_task_of_another_owner",
    ),
    mutant(
        "a list shows the tasks of the owner",
        Edit(READER, "            self.owner if self.owner is not None else owner,\n", "            owner,\n"),
        test=LISTS,
    ),
    mutant(
        "counts are those of the owner",
        Edit(READER, "tx.tasks.count_by_state(self.owner)", "tx.tasks.count_by_state(None)"),
        test=LISTS,
    ),
    mutant(
        "tags are those of the owner",
        Edit(PAGE_QUERIES, "tx.tasks.tags(self.owner)", "tx.tasks.tags(None)"),
        test=LISTS,
    ),
    mutant(
        "the names of other owners are not shown",
        Edit(PAGE_QUERIES, "tx.tasks.owners() if self.owner is None else [self.owner]", "tx.tasks.owners()"),
        test=LISTS,
    ),
    mutant(
        "a stream of tasks is that of the owner",
        Edit("fanfold/server/watching/listed_tasks.py", "if watcher.owner in (None, task.owner)}", "}"),
        test="server/test_live.py::test_an_owner_is_told_only_of_what_is_theirs",
    ),
    mutant(
        "a member submits for its own owner",
        Edit(
            SUBMITTING,
            "if wanted.owner is not None and not access.sees_all and wanted.owner != access.owner:",
            "if False:",
        ),
        test="server/test_access.py::test_a_member_submits_tasks_of_its_own_owner_only",
    ),
    mutant(
        "a task that is submitted belongs to the owner of the token",
        Edit(CLIENT, 'owner=self.owner if self.owner is not None else (owner or ""),', 'owner=owner or "",'),
        test="server/test_access.py::test_a_member_submits_tasks_of_its_own_owner_only",
    ),
    mutant(
        "a file is found only through its own task",
        Edit(BLOBS, "where(blobs.c.key == key, blobs.c.task == task)", "where(blobs.c.key == key)"),
        test="mutants/test_guards_server.py::test_a_file_is_found_only_through_its_own_task",
    ),
)
TOKEN_MUTANTS = (
    mutant(
        "a server that demands a token refuses requests without one",
        Edit(ACCESS, "if secret is None and not place.demands_token:", "if secret is None:"),
        test="server/test_access.py::test_no_route_but_login_and_health_answers_without_a_token",
    ),
    mutant(
        "an unknown token is refused",
        Edit(ACCESS, "if found is None and not place.demands_token and not bearer_of(request):", "if found is None:"),
        test="server/test_access.py::test_a_token_that_is_none_opens_nothing",
    ),
    mutant(
        "a wrong token in the header is refused, even where none is needed",
        Edit(
            ACCESS,
            "if found is None and not place.demands_token and not bearer_of(request):",
            "if found is None and not place.demands_token:",
        ),
        test="server/test_access.py::test_on_a_loopback_address_nobody_needs_a_token_but_a_wrong_one_is_refused",
    ),
    mutant(
        "a token is compared as a whole",
        Edit(TOKEN_ROWS, "where(tokens.c.hash == hashed, valid)", "where(tokens.c.hash.startswith(hashed[:1]), valid)"),
        test="mutants/test_guards_server.py::test_a_token_that_differs_in_anything_opens_nothing",
    ),
    mutant(
        "an expired token is refused",
        Edit(TOKEN_ROWS, "where(tokens.c.hash == hashed, valid)", "where(tokens.c.hash == hashed)"),
        test="server/test_access.py::test_a_revoked_and_an_expired_token_open_nothing",
    ),
    mutant(
        "a token is kept as a hash",
        Edit(
            TOKENS,
            "return hashlib.sha256(secret.encode()).hexdigest()",
            "return secret or hashlib.sha256(b'').hexdigest()",
        ),
        test="server/test_access.py::test_a_token_is_kept_as_a_hash_and_shown_once",
    ),
    mutant(
        "a viewer changes nothing",
        Edit(ACCESS, "    if not access.may_change:\n", "    if False:\n"),
        test="server/test_access.py::test_a_viewer_looks_and_changes_nothing",
    ),
    mutant(
        "only an admin manages the installation",
        Edit(ACCESS, "    if not access.is_admin:\n", "    if False:\n"),
        test="server/test_access.py::test_only_an_admin_manages_the_installation",
    ),
    mutant(
        "figures of all owners are for those who see all",
        Edit(ACCESS, "    if not access.sees_all:\n", "    if False:\n"),
        test="server/test_access.py::test_figures_of_all_owners_are_for_those_who_see_all",
    ),
    mutant(
        "no script reads the cookie with the token, and no other site sends it",
        Edit(
            LOGIN,
            'max_age=KEPT_SECONDS, httponly=True, samesite="strict"',
            'max_age=KEPT_SECONDS, httponly=False, samesite="none"',
        ),
        test="mutants/test_guards_server.py::test_the_cookie_is_for_this_site_and_no_script",
    ),
)
REQUEST_MUTANTS = (
    mutant(
        "an unknown host name is refused",
        Edit(GUARD, "if not self.place.knows_host(host):", "if False:"),
        test="server/test_guard.py::test_a_name_that_was_rebound_to_this_machine_is_refused",
    ),
    mutant(
        "a server on the loopback answers to no other address",
        Edit(PLACE, "return not is_loopback(self.host) and _is_address(bare)", "return _is_address(bare)"),
        test="server/test_guard.py::test_a_name_that_was_rebound_to_this_machine_is_refused",
    ),
    mutant(
        "a foreign origin changes nothing", Edit(GUARD, "if _is_foreign(origin, host) or site", "if site"), test=FOREIGN
    ),
    mutant(
        "the browser's `Sec-Fetch-Site` header is checked",
        Edit(
            GUARD,
            'if _is_foreign(origin, host) or site not in (None, "same-origin", "none"):',
            "if _is_foreign(origin, host):",
        ),
        test=FOREIGN,
    ),
    mutant(
        "only a bearer token frees a request from the check of its origin",
        Edit(
            GUARD,
            'headers.get("authorization", "").lower().startswith("bearer ")',
            'headers.get("authorization", "") != ""',
        ),
        test=FOREIGN,
    ),
    mutant(
        "a request that says it is too large is refused",
        Edit(GUARD, "if _declared(headers) > limit:", "if False:"),
        test="mutants/test_guards_server.py::test_what_says_that_it_is_too_large_is_not_read_at_all",
    ),
    mutant(
        "a body is read up to the limit, whatever it said",
        Edit(GUARD, "        if got > limit:\n", "        if False:\n"),
        test="server/test_guard.py::test_a_body_that_lies_about_its_length_is_stopped_at_the_limit",
    ),
    mutant(
        "every response has the security headers",
        Edit(GUARD, "                seal(MutableHeaders(scope=message))\n", "                pass\n"),
        test="server/test_guard.py::test_every_answer_is_sealed",
    ),
)
SHOWN_MUTANTS = (
    mutant(
        "a value under a secret name is hidden",
        Edit(SECRETS, "    if is_secret(name):\n", "    if False:\n"),
        test="server/test_secrets.py::test_secrets_are_hidden_wherever_they_are",
    ),
    mutant(
        "a text that is a secret is hidden under any name",
        Edit(SECRETS, "isinstance(value, str) and SECRET_TEXT.match(value)", "False"),
        test="server/test_secrets.py::test_secrets_are_hidden_wherever_they_are",
    ),
    mutant(
        "the key of a blob leads nowhere outside of its folder",
        Edit(BLOBS, "if not path.is_relative_to(self.folder.resolve()):", "if False:"),
        test="mutants/test_guards_server.py::test_no_key_of_a_blob_leads_out_of_the_folder",
    ),
    mutant(
        "the name of a file that a handler writes has no folder in it",
        Edit(WORK, 'if "/" in name or "\\\\" in name or name in ("", ".", ".."):', "if False:"),
        test="mutants/test_guards_server.py::test_a_handler_writes_files_by_plain_names",
    ),
)
SENTENCE_MUTANTS = (
    mutant(
        "an error response contains no commands to type",
        Edit("fanfold/server/requests/problems.py", "without_keys(without_commands(detail))", "without_keys(detail)"),
        test="server/test_sentences.py::test_a_refused_command_says_what_is_possible_without_commands_to_type",
    ),
    mutant(
        "a task in the API contains no commands to type",
        Edit("fanfold/server/api/shapes/task_shapes.py", "shallow(neutral(task))", "shallow(task)"),
        test="server/test_sentences.py::test_no_answer_of_the_api_about_a_task_names_a_command",
    ),
)
WAYS_OUT_MUTANTS = (
    mutant(
        "a retry comes first only where it may help",
        Edit("fanfold/server/web/task/ways_out.py", "    return 0 < failures <= limit\n", "    return False\n"),
        test="server/test_ways_out.py::test_nothing_is_offered_first_where_only_another_file_helps[sqlite]",
    ),
    mutant(
        "a page of the list of latest changes begins after the one before",
        Edit(TASKS, "    if wanted.order is TaskOrder.UPDATED:\n", "    if False:\n"),
        test="server/test_tasks.py::test_every_order_is_walked_page_by_page_over_every_task_once[sqlite-updated]",
    ),
)
MUTANTS = (*OWNER_MUTANTS, *TOKEN_MUTANTS, *REQUEST_MUTANTS, *SHOWN_MUTANTS, *SENTENCE_MUTANTS, *WAYS_OUT_MUTANTS)
