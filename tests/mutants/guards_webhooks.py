"""Guards of webhooks, of requests to foreign addresses, and of wake-ups."""

from tests.mutants.mutant import Edit, mutant

GUARDED = "fanfold/outside/guarded_request.py"
DELIVERIES = "fanfold/engine/webhooks/deliveries.py"
NOTICES = "fanfold/engine/webhooks/notices.py"
TESTS = "engine/test_webhooks.py::"

MUTANTS = (
    mutant(
        "private addresses are refused",
        Edit(GUARDED, "if not is_public(address) and not allowed.admits(host, address):", "if False:"),
        test=f"{TESTS}test_a_private_address_is_refused_unless_allowed[sqlite]",
    ),
    mutant(
        "IPv4 inside IPv6 is looked into",
        Edit(GUARDED, "if address.ipv4_mapped is not None:", "if False:"),
        Edit(GUARDED, "if address in NAT64 or int(address) < 2**32:", "if False:"),
        test=f"{TESTS}test_no_form_of_a_private_address_is_asked[64:ff9b::7f00:1]",
    ),
    mutant(
        "the connection goes to the checked address",
        Edit(
            GUARDED,
            "socket.create_connection((address, self.port), self.timeout)",
            "socket.create_connection((self.host, self.port), self.timeout)",
        ),
        test=f"{TESTS}test_the_connection_is_made_to_the_checked_address",
    ),
    mutant(
        "a long answer is not read to its end",
        Edit(
            GUARDED,
            "while len(found) < most_bytes and (piece := answer.read1(min(65_536, most_bytes - len(found)))):",
            "while piece := answer.read1(65_536):",
        ),
        test=f"{TESTS}test_an_endless_body_is_cut",
    ),
    mutant(
        "a delivery is cut off at the end of its time",
        Edit(GUARDED, "        connection.cut()\n\n    timer", "        pass\n\n    timer"),
        test=f"{TESTS}test_a_receiver_that_hangs_is_cut_off[HTTP/1.1 200 OK\\r\\n]",
    ),
    mutant(
        "410 disables a webhook",
        Edit(DELIVERIES, "if reply.status == 410:", "if False:"),
        test=f"{TESTS}test_410_disables_the_webhook[sqlite]",
    ),
    mutant(
        "deliveries are not told of",
        Edit(
            NOTICES,
            "if event is None or row.pipeline == NAME or change.source == change.target:",
            "if event is None or change.source == change.target:",
        ),
        test=f"{TESTS}test_a_completed_task_is_told_once_and_signed[sqlite]",
    ),
    mutant(
        "held items are told once",
        Edit(NOTICES, "if tx.tasks.by_key(row.owner, key) is None:", "if True:"),
        Edit(
            NOTICES,
            "submit_deliveries(tx, receivers, NEEDS_YOU, row.owner, described(row, change), key)",
            "submit_deliveries(tx, receivers, NEEDS_YOU, row.owner, described(row, change))",
        ),
        test=f"{TESTS}test_items_that_wait_for_a_person_are_told_once[sqlite]",
    ),
    mutant(
        "three wake-ups are one look",
        Edit("fanfold/store/items/external_jobs.py", "~HELD, items.c.available_at > self.clock.now)", "~HELD)"),
        test="engine/test_waking.py::test_a_wake_up_makes_the_item_due_now_and_three_are_one_look[sqlite]",
    ),
)
