"""Attacks tested in other files: on several logs, on bundles, on a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.attacks.registry import Family, Needs

_OUTSIDE: Final = "acceptance/test_attacks_from_outside.py"
_CALLS: Final = "integration/api/test_calls.py"
_SEEN: Final = "integration/api/test_visibility.py"
_RACES: Final = "integration/api/test_account_races.py"
_KEYS: Final = "acceptance/test_tampering_keys.py"
_SIGNED: Final = "acceptance/test_tampering_signatures.py"
_TAMPERED: Final = "acceptance/test_tampering.py"
_TABLE: Final = "acceptance/test_tampering_sequence.py"
_KEPT: Final = "acceptance/test_tampering_outside.py"
_LEAKS: Final = "acceptance/test_leaks.py"
_BUNDLE: Final = "unit/shx/test_bundle.py"
_LEVELS: Final = "unit/cli/test_verify_levels.py"
_TABLES: Final = "unit/cli/test_verify_tables.py"
_AUTHORS: Final = "unit/cli/test_verify_authorship.py"
_INPUTS: Final = "integration/api/test_evidence_inputs.py"
_BROUGHT: Final = "unit/verify/test_anchoring.py"
_WITNESS: Final = "unit/public_log/test_witness.py"
_MONITOR: Final = "unit/public_log/test_monitor_games.py"
_WATCH: Final = "integration/public_log/test_watching.py"
_SEQUENCER: Final = "unit/public_log/test_sequencer_and_witnesses.py"
_WITNESS_COMMAND: Final = "unit/cli/test_witness_command.py"
_SEAL: Final = "unit/verify/test_seal.py"
_SEALING: Final = "faults/test_sealed_refusals.py"
_DUMP: Final = "integration/test_dump.py"
_BODIES: Final = "faults/test_half_sent_bodies.py"
_UPLOADS: Final = "faults/test_costly_uploads.py"
_TRIALS: Final = "integration/test_trials.py"
_LONG: Final = "unit/api/test_long_games.py"
_HISTORIES: Final = "integration/test_histories.py"
_WORK: Final = "unit/application/test_work.py"
_SAFETY: Final = "integration/api/test_safety.py"
_DISPUTES: Final = "integration/api/test_disputes.py"
_JOBS: Final = "faults/test_foreign_jobs.py"
_HUNG: Final = "faults/test_hung_redis.py"
_JUMPS: Final = "integration/test_clock_jumps.py"
_RESTORED: Final = "integration/backup/test_revived.py"
_CHECKED: Final = "integration/backup/test_check.py"
_STARTS: Final = "integration/test_startup_checks.py"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An attack, the check that catches it, the outside evidence it needs, and its test."""

    name: str
    family: Family
    check: str
    test: str  # file below tests, and function
    needs: Needs = Needs.NOTHING


def _attack(
    family: Family, check: str, name: str, test: tuple[str, str], needs: Needs = Needs.NOTHING
) -> Shown:
    file, function = test
    return Shown(
        name=name, family=family, check=check, test=f"{file}::test_{function}", needs=needs
    )


_HISTORY: Final = (
    _attack(Family.EDIT, "chain", "an edit without chaining again",
            (_TAMPERED, "an_edit_without_recomputed_hashes_breaks_the_chain_at_the_next_event")),
    _attack(Family.EDIT, "chain", "one changed card in a bundle with its manifest made right",
            (_AUTHORS, "a_changed_card_names_its_event_and_blames_no_party")),
    _attack(Family.EDIT, "receipts", "a file made anew by its holder to blame a seat",
            (_AUTHORS,
             "a_rewritten_log_contradicted_by_a_receipt_is_attributed_to_its_holder"),
            Needs.RECEIPT),
    _attack(Family.EDIT, "signatures", "an edit under later signatures",
            (_SIGNED, "an_earlier_event_cannot_be_edited_under_later_signatures")),
    _attack(Family.EDIT, "any", "any one value of any event changed",
            ("acceptance/test_mutations.py", "a_log_with_one_changed_value_does_not_pass")),
    _attack(Family.DROP, "chain", "a line dropped",
            (_TAMPERED, "a_dropped_line_breaks_the_chain")),
    _attack(Family.REORDERING, "chain", "two lines in the other order",
            (_TAMPERED, "two_lines_in_the_wrong_order_break_the_chain")),
    _attack(Family.INSERTION, "bytes", "bytes that are not those of an event",
            (_TAMPERED, "bytes_that_are_not_the_canonical_event_are_refused")),
    _attack(Family.CLOCK, "legality", "an abort that blames a bot for leaving",
            ("unit/verify/test_aborts.py", "an_abort_by_a_leaving_bot_fails")),
    _attack(Family.OTHERS_OPENINGS, "chain", "a bundle of a seat that is not there",
            (_BROUGHT, "a_bundle_for_an_unknown_seat_is_caught")),
    _attack(Family.WRONG_DEALER, "shuffle", "a named dealer passed over, before the seal",
            (_BROUGHT, "a_false_dealer_is_found_before_the_seal")),
    _attack(Family.TRUNCATION, "seal, receipts", "the end cut off, against a receipt",
            (_KEPT, "a_truncated_game_passes_so_far_and_fails_with_a_receipt"), Needs.RECEIPT),
    _attack(Family.TRUNCATION, "anchor, witness", "the end cut off, against the public log",
            (_OUTSIDE, "a_truncated_game_passes_so_far_and_fails_against_the_public_log"),
            Needs.WITNESS),
    _attack(Family.TRUNCATION, "the witness", "a log set back, its last leaves gone",
            ("unit/cli/test_public_log_commands.py",
             "a_witness_refuses_a_rolled_back_log_and_stores_the_proof"), Needs.WITNESS),
    _attack(Family.BACK_DATING, "the report", "a receipt by a key younger than what it signs",
            (_BROUGHT, "a_signature_outside_the_period_of_its_key_gets_a_remark_and_passes"),
            Needs.RECEIPT),
    _attack(Family.REPLACEMENT, "receipts", "a whole game made up, against a receipt",
            (_OUTSIDE, "a_forged_game_fails_against_any_receipt_of_the_true_game"),
            Needs.RECEIPT),
    _attack(Family.REPLACEMENT, "signatures", "a whole game made up, against a player's key",
            (_OUTSIDE, "a_forged_game_fails_against_the_key_of_any_player"), Needs.SEAT_KEY),
    _attack(Family.REPLACEMENT, "anchor, witness", "a whole game made up, against witnesses",
            (_OUTSIDE, "a_game_forged_afterwards_is_not_in_the_witnessed_tree"),
            Needs.WITNESS),
    _attack(Family.REPLACEMENT, "witness", "a tree that no witness saw",
            (_OUTSIDE, "a_tree_shown_only_to_the_victim_is_not_witnessed"), Needs.WITNESS),
    _attack(Family.BACK_DATING, "receipts", "a whole game dated back",
            (_OUTSIDE, "a_forged_game_fails_against_any_receipt_of_the_true_game"),
            Needs.RECEIPT),
    _attack(Family.RE_ROLL, "sequence", "a deck rolled again, the first attempt kept back",
            (_OUTSIDE, "a_repeated_deal_passes_alone_and_fails_beside_the_first_attempt"),
            Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "sequence", "an aborted attempt left out of a table's games",
            (_TABLE, "a_missing_game_is_caught"), Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "monitor", "an attempt that the public log has and the table not",
            (_MONITOR, "a_missing_repeated_or_misplaced_hand_is_found"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "sequence", "another story for another seat",
            (_OUTSIDE, "different_histories_for_two_seats_fail_side_by_side"),
            Needs.OTHER_LOG),
    _attack(Family.EQUIVOCATION, "witness", "another tree for each witness",
            (_OUTSIDE, "a_log_that_shows_each_witness_a_different_tree_does_not_reach_the_quorum"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the witness", "another tree of the same size",
            (_WITNESS, "a_different_tree_of_equal_size_is_refused_and_saved"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "receipts, monitor", "two stories of a game in one tree",
            (_OUTSIDE, "a_receipt_tells_which_of_two_witnessed_histories_is_true"),
            Needs.RECEIPT),
    _attack(Family.EQUIVOCATION, "monitor", "another head than the public log has",
            (_MONITOR, "a_head_that_differs_from_the_leaf_is_a_fork"), Needs.WITNESS),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a signature that does not cover the move",
            (_SIGNED, "a_signature_that_does_not_cover_the_move_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a move without its signature",
            (_SIGNED, "a_move_of_a_keyed_seat_without_a_signature_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a forfeit without a signature",
            (_SIGNED, "a_forfeit_that_a_keyed_seat_never_signed_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "the list of what is unproven", "a keyless seat's forfeit",
            (_SIGNED, "a_forfeit_of_a_seat_without_a_key_passes_and_is_listed_as_unproven"),
            Needs.SEAT_KEY),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a nonce used twice",
            (_SIGNED, "a_nonce_used_twice_is_caught_even_if_the_player_signed_it")),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a signature of another game",
            (_SIGNED, "a_signature_of_another_game_is_caught")),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a move signed for an earlier position",
            (_SIGNED, "a_move_signed_before_another_seats_action_was_seen_is_caught")),
    _attack(Family.UNSIGNED, "the level", "every move of a keyed seat made after time-outs",
            (_LEVELS, "a_seat_with_moves_only_after_time_outs_limits_the_level_to_l2"),
            Needs.SEAT_KEY),
    _attack(Family.UNSIGNED, "the level", "a keyed game aborted before anybody signed",
            (_LEVELS, "a_hand_that_was_aborted_after_the_deal_reaches_no_l3_by_its_keys"),
            Needs.SEAT_KEY),
    _attack(Family.KEY_SWAP, "signatures", "a key exchanged by the operator",
            (_SIGNED, "a_key_replaced_by_the_operator_fails_against_the_key_from_outside"),
            Needs.SEAT_KEY),
    _attack(Family.KEY_SWAP, "signatures", "a person's seat called a bot's",
            (_OUTSIDE, "a_human_seat_relabelled_as_a_bot_fails_against_its_key"),
            Needs.SEAT_KEY),
    _attack(Family.KEY_SWAP, "signatures", "a key that is no point of the curve, or spelled twice",
            (_KEYS, "a_log_that_pins_an_invalid_key_fails")),
    _attack(Family.KEY_SWAP, "the witness", "a retired server key that signs a longer tree",
            (_WITNESS_COMMAND, "a_retired_key_gets_no_cosignature"),
            Needs.WITNESS),
    _attack(Family.KEY_SWAP, "the witness", "the end of a stolen server key kept back",
            (_WITNESS_COMMAND,
             "the_end_of_a_key_is_remembered_after_the_service_stops_listing_it"),
            Needs.WITNESS),
    _attack(Family.KEY_SWAP, "/v1/keys", "a newer server key ended by the holder of an old one",
            ("integration/test_rotation.py",
             "the_end_of_a_key_counts_only_if_a_later_key_signed_it"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the witness", "a second tree for a witness without its state",
            (_WITNESS_COMMAND, "a_key_without_its_state_is_refused_without_new"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the sequencer", "a log set back while its witness was away",
            (_SEQUENCER, "a_witness_that_was_down_at_the_start_stops_the_log_later"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the sequencer", "a new database under an old name",
            (_SEQUENCER, "a_lost_database_is_noticed_by_the_witness_of_the_old_one"),
            Needs.WITNESS),
    _attack(Family.TRUNCATION, "log.checkpoint", "what was signed last removed",
            (_SEQUENCER, "a_lost_log_checkpoint_stops_a_log_that_has_been_signed")),
    _attack(Family.EQUIVOCATION, "the sequencer", "a witness that claims more leaves or refuses",
            (_SEQUENCER, "a_faulty_witness_does_not_affect_the_others"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the sequencer", "a witness that answers a byte at a time",
            (_SEQUENCER, "a_witness_that_answers_byte_by_byte_delays_nothing"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "monitor", "an old checkpoint shown for ever",
            (_WATCH, "a_frozen_checkpoint_is_reported_once_for_each_tree"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "monitor", "an old checkpoint beside newer games",
            (_WATCH, "an_old_checkpoint_beside_newer_games_is_reported_once"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "monitor", "a log that witnesses no longer cosign",
            (_WATCH, "a_log_without_recent_cosignatures_is_reported"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the witness, monitor", "malformed answers that end the looks",
            (_WITNESS_COMMAND, "a_witness_continues_polling_after_malformed_answers"),
            Needs.WITNESS),
    _attack(Family.KEY_SWAP, "monitor", "a server key that the old one did not sign",
            (_WATCH, "a_key_not_signed_by_the_old_key_is_not_accepted"), Needs.WITNESS),
    _attack(Family.REUSED_SEED, "sequence", "a seed used at two tables",
            (_OUTSIDE, "two_games_with_the_same_seed_fail_together_even_at_different_tables"),
            Needs.OTHER_LOG),
    _attack(Family.REUSED_SEED, "sequence", "a server commitment used twice",
            (_TABLE, "a_server_commitment_used_twice_is_caught"), Needs.OTHER_LOG),
    _attack(Family.WRONG_DEALER, "sequence", "another next dealer",
            (_TABLE, "a_wrong_next_dealer_is_caught"), Needs.OTHER_LOG),
    _attack(Family.WRONG_DEALER, "sequence", "a first hand with a dealer who was not drawn",
            (_OUTSIDE, "a_first_hand_whose_dealer_was_not_drawn_fails")),
    _attack(Family.WRONG_DEALER, "sequence", "a chosen dealer of hand 1 behind a game before it",
            (_TABLES, "a_chosen_dealer_of_hand_1_fails_with_any_predecessor")),
    _attack(Family.WRONG_DEALER, "sequence", "a drawn dealer of a later hand",
            (_TABLES, "a_drawn_dealer_of_a_hand_after_another_fails"), Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "sequence", "a game of another table named as the one before",
            (_TABLES, "a_game_of_another_table_before_it_fails"), Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "sequence", "two games after one, each at a table of its own",
            (_TABLES, "games_with_the_same_predecessor_fail_even_at_two_tables"), Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "sequence", "an aborted attempt not listed beside another fault",
            (_TABLES, "aborted_attempts_are_listed_even_if_a_check_fails"),
            Needs.OTHER_LOG),
    _attack(Family.REUSED_SEED, "sequence", "a server commitment used twice, at two tables",
            (_TABLES, "a_server_commitment_used_twice_fails_at_any_table"),
            Needs.OTHER_LOG),
    _attack(Family.CLOCK, "sequence", "another turn limit or clock in a later hand",
            (_TABLES, "a_changed_turn_limit_or_clock_fails"), Needs.OTHER_LOG),
    _attack(Family.DROP, "sequence", "a hand left out between two",
            (_TABLES, "a_missing_hand_fails"), Needs.OTHER_LOG),
    _attack(Family.DROP, "sequence", "a later hand that names no game before it",
            (_TABLES, "a_later_hand_without_a_game_before_it_fails")),
    _attack(Family.ILLEGAL_RANK, "legality", "an illegal play of a running game",
            (_TAMPERED, "an_illegal_play_of_a_running_game_is_caught_by_public_facts_alone")),
    _attack(Family.RENEGE, "legality", "a known playable card denied in a running game",
            (_TAMPERED, "a_pick_up_by_a_seat_with_a_publicly_known_playable_card_is_caught")),
    _attack(Family.SPECIAL, "legality", "one move by any other rule",
            ("acceptance/test_other_rules.py", "one_move_by_another_rule_does_not_pass")),
)  # fmt: skip

_SECRETS: Final = (
    _attack(Family.COUNTERS, "the list of public metrics", "a refused move seen in /metrics",
            (_CALLS, "the_public_metrics_are_gauges_that_reveal_no_single_call")),
    _attack(Family.COUNTERS, "the public counts", "the end of a private hand seen in a count",
            (_SEEN, "public_counts_leave_out_private_hands_and_a_players_own_counts_include_them")),
    _attack(Family.COUNTERS, "one rule of visibility", "a private hand found by another way",
            (_SEEN, "single_calls_and_lists_have_one_rule")),
    _attack(Family.ACCOUNTS, "the row lock", "an erasure at the moment of a deal",
            (_RACES, "an_erasure_and_a_deal_exclude_each_other")),
    _attack(Family.ACCOUNTS, "the count in the write", "a quota passed by calls at one moment",
            (_RACES, "concurrent_calls_do_not_exceed_a_quota")),
    _attack(Family.ACCOUNTS, "the count in the write", "disputes opened at one moment",
            (_RACES, "disputes_opened_concurrently_do_not_exceed_the_quota")),
    _attack(Family.DUMP, "encryption at rest", "the seed searched for in a dump",
            (_DUMP, "the_dump_has_neither_the_server_seed_nor_the_keys_derived_from_it")),
    _attack(Family.DUMP, "encryption at rest", "hidden cards searched for in a dump",
            (_DUMP, "the_dump_names_no_hidden_card")),
    _attack(Family.SIZE_AND_ORDER, "twin games", "answers of twin games compared",
            (_LEAKS, "two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes")),
    _attack(Family.ERROR_TEXTS, "twin games", "refusals of twin games compared",
            (_LEAKS, "two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes")),
    _attack(Family.ERROR_TEXTS, "the order of faults", "faults reported out of order",
            ("integration/api/test_http.py",
             "faults_are_reported_in_the_order_of_the_contract")),
    _attack(Family.ERROR_TEXTS, "the form of faults", "a fault of the service provoked",
            ("integration/api/test_bad_input.py", "an_internal_error_reveals_no_details")),
    _attack(Family.ETAGS, "twin games", "ETags of twin games compared",
            (_LEAKS, "two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes")),
    _attack(Family.BOT_TIMING, "windows", "the time that a bot waits",
            ("faults/test_windows.py", "the_window_depends_on_public_facts_only")),
    _attack(Family.AS_OTHERS, "views", "another seat's view asked for",
            ("integration/api/test_calls.py", "other_seats_are_shown_after_the_seal")),
    _attack(Family.EARLY_REPLAY, "views", "a replay as a seat before the seal",
            ("integration/api/test_calls.py", "other_seats_are_shown_after_the_seal")),
    _attack(Family.OTHERS_OPENINGS, "openings", "a bundle that opens another seat's cards",
            (_OUTSIDE, "a_bundle_that_opens_another_seats_cards_fails")),
    _attack(Family.OTHERS_OPENINGS, "openings", "a false opening in a seat's bundle",
            (_KEPT, "a_false_opening_in_a_seats_bundle_is_caught")),
)  # fmt: skip

_BUNDLES: Final = (
    _attack(Family.REFUSALS, "seal", "an attempt invented, dropped, moved or changed in a bundle",
            (_SEAL, "attempts_that_differ_from_the_seal_fail")),
    _attack(Family.REFUSALS, "seal", "attempts where the seal names none",
            (_SEAL, "a_file_of_attempts_not_named_by_the_seal_fails")),
    _attack(Family.REFUSALS, "the remarks", "attempts invented for a game of version 1",
            (_SEAL, "refusals_of_version_1_are_shown_as_unproven")),
    _attack(Family.REFUSALS, "the remarks", "attempts invented for a running game",
            (_SEAL, "refusals_of_a_game_without_a_seal_are_shown_as_unproven")),
    _attack(Family.REFUSALS, "the remarks", "a ruling invented under dispute/",
            (_SEAL, "dispute_files_are_shown_as_unproven")),
    _attack(Family.REFUSALS, "the remarks", "attempts dropped and called deleted",
            (_SEAL, "deleted_attempts_are_noted_and_pass")),
    _attack(Family.REFUSALS, "encryption at rest", "an attempt given to another seat",
            (_SEALING, "an_attempt_moved_to_another_seat_time_or_id_cannot_be_decrypted")),
    _attack(Family.REFUSALS, "the append", "an attempt recorded while the game is sealed",
            (_SEALING, "an_attempt_between_decision_and_commit_of_the_seal_is_included")),
    _attack(Family.OWN_TRUST, "the level", "a bundle that brings its own receipts and proof",
            (_OUTSIDE, "receipts_and_proofs_inside_a_bundle_raise_no_level"),
            Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "the reader", "a list of server keys under false ids",
            (_INPUTS, "saved_keys_are_accepted_by_api_and_command_line_alike"), Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "receipts", "receipts of another key",
            (_KEPT, "a_receipt_that_another_key_signed_does_not_count"), Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "receipts", "a bundled receipt in the server's name, not signed",
            (_BROUGHT, "a_bundled_receipt_with_a_false_signature_of_the_given_key_fails"),
            Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "the exit status", "witnesses without the server's key",
            (_BROUGHT, "evidence_without_the_server_key_is_reported_as_missing"),
            Needs.WITNESS),
    _attack(Family.OWN_TRUST, "witness", "one witness that signs twice",
            (_OUTSIDE, "a_witness_that_signs_twice_counts_once"), Needs.WITNESS),
    _attack(Family.OWN_TRUST, "the reader", "a file of keys in the bundle",
            (_BUNDLE, "an_unknown_file_name_is_refused_even_if_listed")),
    _attack(Family.ZIP_TRICKS, "the reader", "names that lead elsewhere",
            (_BUNDLE, "a_file_name_with_a_path_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "the same name twice",
            (_BUNDLE, "the_same_name_twice_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "links and devices",
            (_BUNDLE, "links_and_special_files_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "compression, and so bombs",
            (_BUNDLE, "compression_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "bytes between the entries",
            (_BUNDLE, "bytes_before_after_or_between_the_entries_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "two entries over the same bytes",
            (_BUNDLE, "two_entries_over_the_same_bytes_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "a header against the directory",
            (_BUNDLE, "a_zip_header_that_contradicts_the_directory_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "a second name or size in an extra field",
            (_BUNDLE,
             "an_extra_field_that_overrides_name_or_size_is_refused")),
    _attack(Family.DOWNGRADE, "signatures", "signatures stripped off",
            (_OUTSIDE, "signatures_stripped_from_a_keyed_game_do_not_make_it_a_keyless_one")),
    _attack(Family.DOWNGRADE, "the level", "receipts, keys and proofs left out",
            (_OUTSIDE, "evidence_left_out_is_named_as_missing_and_lowers_the_level"),
            Needs.RECEIPT),
    _attack(Family.DOWNGRADE, "the reader", "a file left out that the manifest lists",
            (_BUNDLE, "unlisted_and_missing_files_are_refused")),
    _attack(Family.DOWNGRADE, "witness", "a quorum of none",
            (_OUTSIDE, "a_quorum_of_zero_or_of_more_than_all_witnesses_proves_nothing"),
            Needs.WITNESS),
    _attack(Family.MARKUP, "the pages", "markup in what a page shows",
            ("integration/api/test_pages.py", "html_in_texts_is_escaped")),
    _attack(Family.MARKUP, "the report", "control characters in a log",
            ("acceptance/test_attacks_registered.py",
             "names_in_a_log_cannot_control_a_terminal")),
)  # fmt: skip

_SERVICE: Final = (
    _attack(
        Family.WITHOUT_BOUND,
        "slots and a deadline",
        "130 half-sent bodies of one address",
        (_BODIES, "half_sent_bodies_of_one_address_block_no_other_caller"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a deadline",
        "a body that never ends",
        (_BODIES, "a_body_has_a_deadline"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a time limit",
        "an upload that takes minutes to verify",
        (_UPLOADS, "a_verification_is_stopped_at_the_configured_time_limit"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a killed process",
        "an upload whose caller has hung up",
        (_UPLOADS, "a_verification_is_stopped_if_the_caller_or_the_server_is_gone"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a queue of its own",
        "many trial hands at once",
        (_TRIALS, "trials_over_the_total_limit_are_refused_at_once"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a count for each player",
        "several trials of one player",
        (_TRIALS, "a_player_has_one_trial_at_a_time"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "slots and a count",
        "readings of the longest hand",
        (_LONG, "events_folded_a_minute_are_limited_by_address_and_player"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "slots and a count",
        "the first call on a long hand in each process",
        (_HISTORIES, "the_first_read_of_a_stream_in_a_process_is_charged_to_the_request"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "slots and a count",
        "a list of many running hands",
        (_LONG, "a_request_that_folds_many_short_games_needs_a_slot_as_well"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "slots and a count",
        "views and moves in hands of hundreds of cards",
        (_WORK, "each_list_of_the_legal_moves_of_a_large_hand_needs_a_slot"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "a cache",
        "a table at which thousands of hands were played",
        (_HISTORIES, "a_cached_table_is_folded_from_its_last_version"),
    ),
    _attack(
        Family.WITHOUT_BOUND,
        "the limit of a body",
        "endless lists of seats",
        (_SAFETY, "a_very_long_list_of_seats_is_refused_with_a_short_answer"),
    ),
    _attack(
        Family.STEERED_RULING,
        "403",
        "new accounts that judge at once",
        (_DISPUTES, "newly_seated_referees_cannot_vote"),
    ),
    _attack(
        Family.STEERED_RULING,
        "403",
        "a vote before the seal",
        (_DISPUTES, "the_voting_opens_only_after_the_seal"),
    ),
    _attack(
        Family.STEERED_RULING,
        "422",
        "a seat accused of another seat's move",
        (_DISPUTES, "a_seat_is_not_accused_of_another_seat_s_move"),
    ),
    _attack(
        Family.STEERED_RULING,
        "409",
        "the same accusation twice",
        (_DISPUTES, "only_one_dispute_on_a_move_and_charge_is_open_at_a_time"),
    ),
    _attack(
        Family.STEERED_RULING,
        "403",
        "the cleared accused uses up the appeal",
        (_DISPUTES, "the_cleared_accused_does_not_use_up_the_appeal"),
    ),
    _attack(
        Family.FOREIGN_JOBS,
        "the worker",
        "a job that calls another function",
        (_JOBS, "foreign_jobs_and_callbacks_are_not_run"),
    ),
    _attack(
        Family.FOREIGN_JOBS,
        "the worker",
        "a command to a worker over Redis",
        (_JOBS, "a_worker_accepts_no_commands_over_redis"),
    ),
    _attack(
        Family.FOREIGN_JOBS,
        "a time limit",
        "a Redis that hangs",
        (_HUNG, "a_hung_redis_costs_a_move_50_ms_and_the_next_ones_nothing"),
    ),
    _attack(
        Family.OLD_STATE,
        "the clock watch",
        "a clock set ahead before a purge",
        (_JUMPS, "a_clock_jump_erases_no_player"),
    ),
    _attack(
        Family.OLD_STATE,
        "the start",
        "a key file from before a rotation",
        (_STARTS, "keys_from_before_a_rotation_are_refused"),
    ),
    _attack(
        Family.OLD_STATE,
        "the restore",
        "a changed backup with its hashes made right",
        (_RESTORED, "a_changed_backup_is_refused_even_if_its_hashes_fit"),
    ),
    _attack(
        Family.OLD_STATE,
        "the restore",
        "tokens and erased players of a backup",
        (_RESTORED, "players_erased_after_the_backup_are_erased_again"),
    ),
    _attack(
        Family.OLD_STATE,
        "check --deep",
        "a result changed in its row alone",
        (_CHECKED, "a_summary_that_contradicts_its_events_is_named"),
    ),
)

_REPORTED: Final = (
    _attack(Family.WITHOUT_BOUND, "no HTTP/2 in the clear", "a hundred calls in one connection",
            (_BODIES, "slow_uploads_half_sent_heads_and_http2_prefaces_block_no_other_call")),
    _attack(Family.WITHOUT_BOUND, "the reader", "a body of twenty thousand names",
            ("integration/api/test_bad_input.py",
             "a_body_of_20000_unknown_fields_is_refused_while_it_is_read")),
    _attack(Family.WITHOUT_BOUND, "one mention", "refused passes with thousands of alternatives",
            ("unit/cli/test_verify_budget.py", "alternative_moves_are_listed_once")),
    _attack(Family.WITHOUT_BOUND, "503", "so many trials that some of them expire",
            (_TRIALS, "a_lost_trial_is_answered_with_retry_later")),
    _attack(Family.STEERED_RULING, "the state", "a cad before there was time for an appeal",
            (_DISPUTES, "a_dispute_from_the_accusation_to_the_appeal")),
    _attack(Family.STEERED_RULING, "the end of a dispute", "every referee refused",
            ("unit/domain/test_dispute.py",
             "a_side_may_refuse_any_number_of_referees_until_the_dispute_ends")),
    _attack(Family.STEERED_RULING, "the time for votes", "referees who do not vote",
            (_DISPUTES, "referees_that_miss_the_deadline_leave_the_panel")),
    _attack(Family.COUNTERS, "null", "the players behind the referees of others",
            (_DISPUTES, "referees_are_named_only_to_the_sides_and_the_referees")),
    _attack(Family.COUNTERS, "a day", "the end of a private hand seen in the statistics",
            ("integration/api/test_statistics.py",
             "a_private_hand_is_counted_from_the_next_day_on")),
    _attack(Family.KEY_SWAP, "422", "a key that cannot sign, given for a seat",
            ("integration/api/test_keys_of_seats.py",
             "a_weak_seat_key_is_refused_everywhere")),
    _attack(Family.KEY_SWAP, "the client", "a seat's key that the server left out",
            ("acceptance/test_play.py", "a_key_that_the_server_left_out_is_still_a_contradiction"),
            Needs.SEAT_KEY),
    _attack(Family.DOWNGRADE, "the report", "receipts without the key that signed them",
            (_AUTHORS, "evidence_without_its_key_is_reported_as_incomplete"), Needs.RECEIPT),
    _attack(Family.EQUIVOCATION, "the sequencer", "too few witnesses to sign with",
            (_SEQUENCER, "the_configured_number_of_witnesses_must_agree_before_a_signature"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the sequencer", "a larger tree that its own key has signed",
            (_SEQUENCER, "a_larger_size_with_a_checkpoint_signed_here_stops_the_log"),
            Needs.WITNESS),
    _attack(Family.SPECIAL, "ruleset-refused", "settings that a page shows and play ignores",
            ("unit/rulesets/test_without_effect.py",
             "a_requested_change_without_effect_is_refused_with_a_reason")),
    _attack(Family.OLD_STATE, "the clock watch", "a clock set ahead before idle games are closed",
            (_JUMPS, "a_clock_jump_closes_no_game")),
    _attack(Family.OLD_STATE, "rotate-keys", "101 rotations within the overlap",
            ("unit/cli/test_public_log_commands.py",
             "no_more_keys_sign_at_once_than_a_checkpoint_has_lines_for")),
    _attack(Family.OLD_STATE, "the restore", "a backup without its signature",
            (_RESTORED, "a_restore_reports_whether_the_backup_is_authentic")),
)  # fmt: skip
"""Of the kinds that independent testing reported: ops/bench/results/findings.md."""

ELSEWHERE: Final = (*_HISTORY, *_SECRETS, *_BUNDLES, *_SERVICE, *_REPORTED)
