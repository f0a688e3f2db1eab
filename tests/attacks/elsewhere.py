"""Attacks whose tests stand in other files: on several logs, on bundles, on a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.attacks.registry import Family, Needs

_OUTSIDE: Final = "acceptance/test_attacks_from_outside.py"
_SIGNED: Final = "acceptance/test_tampering_signatures.py"
_TAMPERED: Final = "acceptance/test_tampering.py"
_TABLE: Final = "acceptance/test_tampering_sequence.py"
_KEPT: Final = "acceptance/test_tampering_outside.py"
_LEAKS: Final = "acceptance/test_leaks.py"
_BUNDLE: Final = "unit/record/test_bundle.py"
_BROUGHT: Final = "unit/verify/test_outside.py"
_WITNESS: Final = "unit/public_log/test_witness.py"
_MONITOR: Final = "unit/public_log/test_monitor_games.py"
_WATCH: Final = "integration/public_log/test_watching.py"
_DUMP: Final = "integration/test_dump.py"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An attack, what catches it and with what from outside, and the test that shows it."""

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
            (_TAMPERED, "an_edit_without_chaining_again_breaks_the_chain_at_the_next_event")),
    _attack(Family.EDIT, "signatures", "an edit under later signatures",
            (_SIGNED, "an_earlier_event_cannot_be_edited_under_later_signatures")),
    _attack(Family.EDIT, "any", "any one value of any event changed",
            ("acceptance/test_mutations.py", "a_log_with_one_value_changed_does_not_pass")),
    _attack(Family.DROP, "chain", "a line dropped",
            (_TAMPERED, "a_dropped_line_breaks_the_chain")),
    _attack(Family.REORDERING, "chain", "two lines in the other order",
            (_TAMPERED, "two_lines_in_the_wrong_order_break_the_chain")),
    _attack(Family.INSERTION, "bytes", "bytes that are not those of an event",
            (_TAMPERED, "bytes_that_are_not_the_canonical_event_are_refused")),
    _attack(Family.CLOCK, "legality", "a bot that is said to have left",
            ("unit/verify/test_aborts.py", "a_bot_does_not_leave")),
    _attack(Family.OTHERS_OPENINGS, "chain", "a bundle of a seat that is not there",
            (_BROUGHT, "a_bundle_of_a_seat_that_is_not_there_is_caught")),
    _attack(Family.WRONG_DEALER, "shuffle", "a named dealer passed over, before the seal",
            (_BROUGHT, "a_named_dealer_who_did_not_deal_is_seen_before_the_seal")),
    _attack(Family.TRUNCATION, "seal, receipts", "the end cut off, against a receipt",
            (_KEPT, "a_truncated_game_passes_so_far_and_fails_with_a_receipt"), Needs.RECEIPT),
    _attack(Family.TRUNCATION, "anchor, witness", "the end cut off, against the public log",
            (_OUTSIDE, "a_truncated_game_passes_so_far_and_fails_against_the_public_log"),
            Needs.WITNESS),
    _attack(Family.TRUNCATION, "the witness", "a log set back, its last leaves gone",
            ("unit/cli/test_public_log_commands.py",
             "a_witness_refuses_a_log_that_was_set_back_and_keeps_the_proof"), Needs.WITNESS),
    _attack(Family.BACK_DATING, "the report", "a receipt by a key younger than what it signs",
            (_BROUGHT, "a_key_that_signed_out_of_its_time_is_remarked_and_fails_nothing"),
            Needs.RECEIPT),
    _attack(Family.REPLACEMENT, "receipts", "a whole game made up, against a receipt",
            (_OUTSIDE, "a_game_made_up_fails_against_any_receipt_of_the_true_one"),
            Needs.RECEIPT),
    _attack(Family.REPLACEMENT, "signatures", "a whole game made up, against a player's key",
            (_OUTSIDE, "a_game_made_up_fails_against_the_key_of_any_player"), Needs.SEAT_KEY),
    _attack(Family.REPLACEMENT, "anchor, witness", "a whole game made up, against witnesses",
            (_OUTSIDE, "a_game_made_up_afterwards_is_not_in_the_tree_that_witnesses_saw"),
            Needs.WITNESS),
    _attack(Family.REPLACEMENT, "witness", "a tree that no witness saw",
            (_OUTSIDE, "a_tree_shown_to_nobody_but_the_victim_is_not_witnessed"), Needs.WITNESS),
    _attack(Family.BACK_DATING, "receipts", "a whole game dated back",
            (_OUTSIDE, "a_game_made_up_fails_against_any_receipt_of_the_true_one"),
            Needs.RECEIPT),
    _attack(Family.RE_ROLL, "sequence", "a deck rolled again, the first attempt kept back",
            (_OUTSIDE, "a_deck_rolled_again_passes_alone_and_fails_beside_the_first_attempt"),
            Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "sequence", "an aborted attempt left out of a table's games",
            (_TABLE, "a_game_left_out_is_caught"), Needs.OTHER_LOG),
    _attack(Family.RE_ROLL, "monitor", "an attempt that the public log has and the table not",
            (_MONITOR, "a_hand_left_out_doubled_or_out_of_place_is_found"), Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "sequence", "another story for another seat",
            (_OUTSIDE, "a_story_for_one_seat_and_another_for_the_next_fail_side_by_side"),
            Needs.OTHER_LOG),
    _attack(Family.EQUIVOCATION, "witness", "another tree for each witness",
            (_OUTSIDE, "a_log_that_shows_each_witness_another_tree_does_not_reach_the_quorum"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "the witness", "another tree of the same size",
            (_WITNESS, "another_tree_of_the_same_size_is_refused_and_kept_as_evidence"),
            Needs.WITNESS),
    _attack(Family.EQUIVOCATION, "receipts, monitor", "two stories of a game in one tree",
            (_OUTSIDE, "two_stories_in_one_tree_are_both_witnessed_and_a_receipt_parts_them"),
            Needs.RECEIPT),
    _attack(Family.EQUIVOCATION, "monitor", "another head than the public log has",
            (_MONITOR, "another_head_than_the_log_says_is_a_fork"), Needs.WITNESS),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a signature that does not cover the move",
            (_SIGNED, "a_signature_that_does_not_cover_the_move_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a move without its signature",
            (_SIGNED, "a_move_of_a_keyed_seat_without_a_signature_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "signatures", "a forfeit that nobody signed",
            (_SIGNED, "a_forfeit_that_a_keyed_seat_never_signed_is_caught")),
    _attack(Family.FORGED_SIGNATURE, "the list of what is unproven", "a keyless seat's forfeit",
            (_SIGNED, "a_forfeit_of_a_seat_without_a_key_passes_and_is_listed_as_unproven"),
            Needs.SEAT_KEY),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a nonce used twice",
            (_SIGNED, "a_nonce_used_twice_is_caught_though_the_player_signed_it")),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a signature of another game",
            (_SIGNED, "a_signature_of_another_game_is_caught")),
    _attack(Family.REPLAYED_SIGNATURE, "signatures", "a move signed for an earlier position",
            (_SIGNED, "a_move_signed_before_another_seats_action_was_seen_is_caught")),
    _attack(Family.KEY_SWAP, "signatures", "a key exchanged by the operator",
            (_SIGNED, "a_key_exchanged_by_the_operator_shows_against_the_key_from_outside"),
            Needs.SEAT_KEY),
    _attack(Family.KEY_SWAP, "signatures", "a person's seat called a bot's",
            (_OUTSIDE, "a_seat_relabelled_a_bot_to_need_no_signature_fails_against_its_key"),
            Needs.SEAT_KEY),
    _attack(Family.KEY_SWAP, "monitor", "a server key that the old one did not sign",
            (_WATCH, "a_key_that_the_old_one_did_not_sign_is_not_taken"), Needs.WITNESS),
    _attack(Family.REUSED_SEED, "sequence", "a seed used at two tables",
            (_OUTSIDE, "a_seed_used_in_two_games_fails_beside_the_other_at_whatever_table"),
            Needs.OTHER_LOG),
    _attack(Family.REUSED_SEED, "sequence", "a server commitment used twice",
            (_TABLE, "a_server_commitment_used_twice_is_caught"), Needs.OTHER_LOG),
    _attack(Family.WRONG_DEALER, "sequence", "another next dealer",
            (_TABLE, "a_wrong_next_dealer_is_caught"), Needs.OTHER_LOG),
    _attack(Family.WRONG_DEALER, "sequence", "a first hand whose dealer nobody drew",
            (_OUTSIDE, "a_first_hand_whose_dealer_was_not_drawn_fails")),
    _attack(Family.ILLEGAL_RANK, "legality", "an illegal play of a running game",
            (_TAMPERED, "an_illegal_play_of_a_running_game_is_caught_by_public_facts_alone")),
    _attack(Family.RENEGE, "legality", "a known playable card denied in a running game",
            (_TAMPERED, "a_known_playable_card_makes_a_forced_play_public")),
    _attack(Family.SPECIAL, "legality", "one move by any other rule",
            ("acceptance/test_other_rules.py", "one_move_by_another_rule_does_not_pass")),
)  # fmt: skip

_SECRETS: Final = (
    _attack(Family.DUMP, "encryption at rest", "the seed searched for in a dump",
            (_DUMP, "the_server_seed_and_the_keys_that_follow_from_it_are_nowhere")),
    _attack(Family.DUMP, "encryption at rest", "hidden cards searched for in a dump",
            (_DUMP, "no_hidden_card_is_named_anywhere")),
    _attack(Family.SIZE_AND_ORDER, "twin games", "answers of twin games compared",
            (_LEAKS, "two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes")),
    _attack(Family.ERROR_TEXTS, "twin games", "refusals of twin games compared",
            (_LEAKS, "two_decks_that_a_viewer_cannot_tell_apart_give_it_the_same_bytes")),
    _attack(Family.ERROR_TEXTS, "the order of faults", "faults told before what may be known",
            ("integration/api/test_conventions.py",
             "faults_are_told_in_the_order_of_the_contract")),
    _attack(Family.ERROR_TEXTS, "the form of faults", "a fault of the service provoked",
            ("integration/api/test_bad_input.py", "a_fault_of_ours_tells_nothing_of_itself")),
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
    _attack(Family.OWN_TRUST, "the level", "a bundle that brings its own receipts and proof",
            (_OUTSIDE, "a_bundle_with_its_own_receipts_and_proof_reaches_no_level_by_them"),
            Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "receipts", "receipts of another key",
            (_KEPT, "a_receipt_that_another_key_signed_does_not_count"), Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "receipts", "a bundled receipt in the server's name, not signed",
            (_BROUGHT, "a_bundled_receipt_with_a_false_signature_of_the_given_key_fails"),
            Needs.RECEIPT),
    _attack(Family.OWN_TRUST, "the exit status", "witnesses without the server's key",
            (_BROUGHT, "what_was_brought_and_cannot_be_checked_without_the_servers_key_is_missing"),
            Needs.WITNESS),
    _attack(Family.OWN_TRUST, "witness", "one witness that signs twice",
            (_OUTSIDE, "one_witness_that_signs_twice_is_one"), Needs.WITNESS),
    _attack(Family.OWN_TRUST, "the reader", "a file of keys in the bundle",
            (_BUNDLE, "a_file_that_no_bundle_has_is_refused_even_if_listed")),
    _attack(Family.ZIP_TRICKS, "the reader", "names that lead elsewhere",
            (_BUNDLE, "a_name_that_leads_elsewhere_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "the same name twice",
            (_BUNDLE, "the_same_name_twice_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "links and devices",
            (_BUNDLE, "links_and_other_things_that_are_no_files_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "compression, and so bombs",
            (_BUNDLE, "compression_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "bytes between the entries",
            (_BUNDLE, "bytes_before_after_or_between_the_entries_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "two entries over the same bytes",
            (_BUNDLE, "two_entries_over_the_same_bytes_are_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "a header against the directory",
            (_BUNDLE, "a_header_that_tells_another_story_than_the_directory_is_refused")),
    _attack(Family.ZIP_TRICKS, "the reader", "a second name or size in an extra field",
            (_BUNDLE,
             "an_extra_field_by_which_some_readers_take_another_name_or_size_is_refused")),
    _attack(Family.DOWNGRADE, "signatures", "signatures stripped off",
            (_OUTSIDE, "signatures_stripped_from_a_keyed_game_do_not_make_it_a_keyless_one")),
    _attack(Family.DOWNGRADE, "the level", "receipts, keys and proofs left out",
            (_OUTSIDE, "evidence_left_out_is_named_as_missing_and_lowers_the_level"),
            Needs.RECEIPT),
    _attack(Family.DOWNGRADE, "the reader", "a file left out that the manifest lists",
            (_BUNDLE, "a_file_that_is_not_listed_or_listed_and_not_there_is_refused")),
    _attack(Family.DOWNGRADE, "witness", "a quorum of none",
            (_OUTSIDE, "a_quorum_of_none_or_of_more_than_there_are_proves_nothing"),
            Needs.WITNESS),
    _attack(Family.MARKUP, "the pages", "markup in what a page shows",
            ("integration/api/test_pages.py", "what_looks_like_html_stays_text")),
    _attack(Family.MARKUP, "the report", "control characters in a log",
            ("acceptance/test_attacks_registered.py",
             "what_a_log_names_cannot_steer_a_terminal")),
)  # fmt: skip

ELSEWHERE: Final = (*_HISTORY, *_SECRETS, *_BUNDLES)
