"""Guards of webhooks, of wake-ups from outside, and of gates that ask."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

NOTICES, DELIVERIES = "fanfold/engine/webhooks/notices.py", "fanfold/engine/webhooks/deliveries.py"
ENDPOINTS, ROWS = "fanfold/engine/webhooks/endpoints.py", "fanfold/store/rows/webhooks.py"
ANSWERS = "fanfold/engine/tasks/steering/gate_answers.py"
HERE, GATES = "engine/test_webhooks.py", "engine/test_gate_answers.py"
MUTANTS = (
    mutant(
        "a gate that asks is not passed by an answer to an earlier result",
        Edit("fanfold/engine/tasks/moving/advance.py", "if stage.asks:", "if False:"),
        by="sqlite",
        test=f"{GATES}::test_what_was_made_again_is_not_passed_by_the_answer_given_before",
    ),
    mutant(
        "deliveries are not told of themselves",
        Edit(
            NOTICES,
            "    if event is None or row.pipeline in (NAME, LEDGER):\n        return\n",
            "    if event is None:\n        return\n",
        ),
        test=f"{HERE}::test_a_completed_task_is_told_once_and_signed[sqlite]",
    ),
    mutant(
        "a task that starts at its time and waits at a gate is told",
        Edit(
            NOTICES,
            "    if change.source == change.target and change.verb != START:\n",
            "    if change.source == change.target:\n",
        ),
        test=f"{HERE}::test_a_task_that_starts_later_at_a_gate_needs_you_then[sqlite]",
    ),
    mutant(
        "an owner does not replace the webhook of another",
        Edit(
            ENDPOINTS,
            "            if before is not None and self._client.owner not in (None, before.owner):\n",
            "            if False:\n",
        ),
        test=f"{HERE}::test_an_owner_cannot_replace_the_webhook_of_somebody_else[sqlite]",
    ),
    mutant(
        "many addresses of a host get no more time than one",
        Edit("fanfold/outside/connection.py", " / (len(self._addresses) - place)", ""),
        test=f"{HERE}::test_many_addresses_get_no_more_time_than_one",
    ),
    mutant(
        "items that wait for a person are told once per stage",
        Edit(NOTICES, "        if tx.tasks.by_key(row.owner, key) is None:\n", "        if True:\n"),
        Edit(
            NOTICES,
            "NEEDS_YOU, row.owner, described(row, change), key)",
            "NEEDS_YOU, row.owner, described(row, change))",
        ),
        test=f"{HERE}::test_items_that_wait_for_a_person_are_told_once[sqlite]",
    ),
    mutant(
        "a webhook hears of its own events only",
        Edit(ROWS, "            and event in json.loads(row.events)\n", ""),
        test=f"{HERE}::test_only_the_wanted_events_pipelines_and_owners_are_told[sqlite]",
    ),
    mutant(
        "a webhook of an owner hears nothing of others",
        Edit(ROWS, "            and row.owner in (None, owner)\n", ""),
        test=f"{HERE}::test_only_the_wanted_events_pipelines_and_owners_are_told[sqlite]",
    ),
    mutant(
        "a webhook of a pipeline hears nothing of others",
        Edit(ROWS, "            and row.pipeline in (None, pipeline)\n", ""),
        test=f"{HERE}::test_only_the_wanted_events_pipelines_and_owners_are_told[sqlite]",
    ),
    mutant(
        "410 disables a webhook",
        Edit(
            DELIVERIES,
            '            item._store.transact(lambda tx: tx.webhooks.disable(name, url, "410 Gone"))\n',
            "            pass\n",
        ),
        test=f"{HERE}::test_410_disables_the_webhook[sqlite]",
    ),
    mutant(
        "a removed webhook gets nothing any more",
        Edit(
            DELIVERIES,
            "        if row is None or row.disabled_at is not None:\n"
            '            raise Permanent(say("webhook_gone", webhook=name), code="webhook_disabled")\n'
            "        url = row.url\n",
            "        url = row.url if row is not None else url\n",
        ),
        test=f"{HERE}::test_a_removed_webhook_gets_nothing_any_more[sqlite]",
    ),
    mutant(
        "the pauses between tries grow",
        Edit(
            DELIVERIES,
            "    return DELAYS[min(len(DELAYS) - 1, max(0, len(DELAYS) - item.retries_left))]\n",
            "    return DELAYS[0]\n",
        ),
        test=f"{HERE}::test_a_receiver_that_fails_is_tried_again_at_growing_intervals[sqlite]",
    ),
    mutant(
        "a wrong address of a webhook is refused",
        Edit(ENDPOINTS, "        check_url(url)\n        unknown", "        unknown"),
        test=f"{HERE}::test_a_wrong_address_is_refused",
    ),
    mutant(
        "a task's own receivers are checked",
        Edit(
            ENDPOINTS,
            '        if isinstance(one, str) and "://" in one:\n            check_url(one)\n        elif',
            '        if isinstance(one, str) and "://" in one:\n            pass\n        elif',
        ),
        test=f"{HERE}::test_a_wrong_notify_is_refused[sqlite]",
    ),
    mutant(
        "a redirect of a delivery is not followed",
        Edit(
            DELIVERIES,
            '    if 200 <= reply.status < 300:\n        return {"status": reply.status, "answer": shown(reply)}\n'
            '    said = say("webhook_answered", host=host_of(url)',
            '    if 200 <= reply.status < 400:\n        return {"status": reply.status, "answer": shown(reply)}\n'
            '    said = say("webhook_answered", host=host_of(url)',
        ),
        test=f"{HERE}::test_a_redirect_is_not_followed[sqlite]",
    ),
    mutant(
        "what is stored of a wake-up token wakes nothing",
        Edit(
            "fanfold/engine/tasks/steering/wake.py",
            '    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()\n',
            "    return token\n",
        ),
        test="engine/test_waking.py::test_a_token_is_not_in_the_database_and_a_wrong_one_wakes_nothing[sqlite]",
    ),
    mutant(
        "an answer that nobody asked for is refused",
        Edit(ANSWERS, "        if answer:\n            raise", "        if False:\n            raise"),
        test=f"{GATES}::test_an_answer_that_nobody_asked_for_is_refused[sqlite]",
    ),
    mutant(
        "an answer at a gate is checked",
        Edit(
            ANSWERS,
            "    text = serial.dump(checked_answer(stage.asks, stage.name, answer), ",
            "    text = serial.dump(dict(answer or {}), ",
        ),
        test=f"{GATES}::test_an_answer_that_does_not_fit_changes_nothing[sqlite]",
    ),
    mutant(
        "going straight through needs defaults",
        Edit(
            ANSWERS,
            "        if names := must_be_answered(stage.asks):\n",
            "        if False and (names := must_be_answered(stage.asks)):\n",
        ),
        test=f"{GATES}::test_going_straight_through_needs_defaults[sqlite]",
    ),
    mutant(
        "an answer passes only the gate it is meant for",
        Edit(
            "fanfold/engine/tasks/steering/commands.py",
            "        if stage is not None and stage != row.stage:\n",
            "        if False:\n",
        ),
        test=f"{GATES}::test_the_answer_of_a_second_person_does_not_pass_the_next_gate[sqlite]",
    ),
    mutant(
        "an answer is stored",
        Edit(ANSWERS, "    tx.gate_answers.add(row.number, stage.name, text, actor)\n", ""),
        test=f"{GATES}::test_the_stage_behind_a_gate_reads_the_answer[sqlite]",
    ),
)
