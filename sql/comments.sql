-- The comments of tables, views and columns. psql shows them (`\d+ games`), and `python -m
-- ops.schema` writes them into sql/schema.sql. The file is applied again when it changes, like the functions.

COMMENT ON TABLE applied_migrations IS 'The migrations applied to this database.';
COMMENT ON COLUMN applied_migrations.name IS 'of the file, without its extension';
COMMENT ON COLUMN applied_migrations.checksum IS 'SHA-256 of the file';

COMMENT ON TABLE applied_files IS
    'The files of functions, comments and privileges, which are applied again when they change.';
COMMENT ON COLUMN applied_files.name IS 'of a file that is applied again when it changes';
COMMENT ON COLUMN applied_files.checksum IS 'SHA-256 of the file';

COMMENT ON TABLE streams IS
    'The record: streams of events, one for each game, table, dispute and access log, with data '
    'beside running games and the outbox. Every key starts with the id of a stream. There are no '
    'sequences, and no foreign keys from one stream to another. An append therefore touches only '
    'rows of its own streams, so streams can be partitioned or distributed by id without a change '
    'of the schema.';
COMMENT ON COLUMN streams.kind IS 'StreamKind; only games are public';
COMMENT ON COLUMN streams.version IS 'number of events; an append compares and sets it';
COMMENT ON COLUMN streams.head IS 'SHA-256(0x00 || last line)';

COMMENT ON TABLE events IS 'The lines of the streams.';
COMMENT ON COLUMN events.seq IS 'from 0, without gaps';
COMMENT ON COLUMN events.line IS
    'canonical JSON, the exact bytes that are hashed; jsonb would change them';

COMMENT ON TABLE archived IS
    'Archived streams: their events are in bundles outside the database. Only events of streams '
    'listed here may be deleted.';
COMMENT ON COLUMN archived.version IS 'of the whole stream';
COMMENT ON COLUMN archived.head IS 'of the whole stream';
COMMENT ON COLUMN archived.bundle IS 'SHA-256 of the bundle with its events';

COMMENT ON TABLE secrets IS
    'The server seeds of running games, encrypted by the service. A seed is deleted when its game '
    'is sealed or aborted.';
COMMENT ON COLUMN secrets.key_id IS 'of a key in the key file';
COMMENT ON COLUMN secrets.ciphertext IS 'AES-256-GCM, the game id as associated data';

COMMENT ON TABLE answers IS
    'Answers to requests that carried an Idempotency-Key, encrypted by the service.';
COMMENT ON COLUMN answers.request_key IS 'SHA-256 over path and key';
COMMENT ON COLUMN answers.body_hash IS 'SHA-256 over the body';
COMMENT ON COLUMN answers.sealed IS 'the answer, encrypted';

COMMENT ON TABLE outbox IS
    'Outbox: tasks that follow a commit; the process that takes a task deletes its row.';
COMMENT ON COLUMN outbox.version IS 'the stream''s version after the commit';
COMMENT ON COLUMN outbox.topic IS 'the receiver: game, log, statistics';

COMMENT ON VIEW event_log IS
    'The events as JSON, for SQL sessions; derived from `line`, which is the record.';

COMMENT ON TABLE players IS
    'The directory: data for lists, pages and the sweeper, to be read without folding a stream. '
    'Names of players are stored here and in no stream, so that they can be erased.';
COMMENT ON COLUMN players.name IS 'null once erased';
COMMENT ON COLUMN players.token_hash IS
    'SHA-256 of one of the tokens, for processes of earlier releases; null once erased';
COMMENT ON COLUMN players.recovery_hash IS 'SHA-256; null once erased';

COMMENT ON TABLE tokens IS
    'The bearer tokens of players: several a player, each with what it permits. One that ends is '
    'deleted, at once or, after its end, with the next that is issued.';
COMMENT ON COLUMN tokens.token_hash IS 'SHA-256; the token itself is not stored';
COMMENT ON COLUMN tokens.name IS 'given by the player; registration, recovery, renewed';
COMMENT ON COLUMN tokens.scopes IS 'of read, play, dispute, account; never changed';
COMMENT ON COLUMN tokens.ends_at IS 'null: no end';
COMMENT ON COLUMN tokens.used_on IS 'day of the last use, in UTC; null before the first';

COMMENT ON TABLE webhooks IS
    'The receiver that a player named for the own events: one a player, replaced by a new one.';
COMMENT ON COLUMN webhooks.url IS 'personal data, deleted with the player';
COMMENT ON COLUMN webhooks.types IS 'of the own stream; no check, so that a new type needs no migration';
COMMENT ON COLUMN webhooks.key_id IS 'of a key in the key file';
COMMENT ON COLUMN webhooks.secret IS 'encrypted, bound to the player; it signs every request';
COMMENT ON COLUMN webhooks.state IS 'waiting for the echo of its ping, on, or off until it is set again';
COMMENT ON COLUMN webhooks.fault IS 'code of the last failed attempt; null after a success';
COMMENT ON COLUMN webhooks.status IS 'HTTP status of the last failed attempt; null without an answer';
COMMENT ON COLUMN webhooks.failures IS 'failed attempts in a row; 0: none fails';
COMMENT ON COLUMN webhooks.failing_since IS 'of the first of these';
COMMENT ON COLUMN webhooks.delivered_at IS 'of the last success; null before the first';
COMMENT ON COLUMN webhooks.due_at IS 'when a worker looks next for something to send';
COMMENT ON COLUMN webhooks.claim IS 'number of the last claim, named by whatever is stored under it';
COMMENT ON COLUMN webhooks.claimed_until IS 'a worker holds the claim until then; null: none does';
COMMENT ON COLUMN webhooks.tables IS 'open at the last look: their ends are sent';
COMMENT ON COLUMN webhooks.games IS 'running at the last look: their ends are sent';

COMMENT ON TABLE webhook_deliveries IS
    'The newest notice of each type and object that a webhook has to be, or was, sent while it is open.';
COMMENT ON COLUMN webhook_deliveries.type IS 'of the own stream';
COMMENT ON COLUMN webhook_deliveries.id IS 'the game, table or dispute';
COMMENT ON COLUMN webhook_deliveries.mark IS 'a notice with a higher one is newer';
COMMENT ON COLUMN webhook_deliveries.body IS 'the JSON that is signed; equal at each attempt';
COMMENT ON COLUMN webhook_deliveries.found_at IS 'the time that the body states';
COMMENT ON COLUMN webhook_deliveries.sent_at IS 'when the receiver accepted it; null: not yet';

COMMENT ON TABLE games IS
    'A summary of a game, written by the append that changes it, like those in game_seats, tables '
    'and table_seats.';
COMMENT ON COLUMN games.turn IS 'seat; null if no single seat is on turn';
COMMENT ON COLUMN games.dealer IS 'seat; null while it is not drawn';
COMMENT ON COLUMN games.reason IS 'of game_ended, or the cause of game_aborted';
COMMENT ON COLUMN games.shithead IS 'seat';
COMMENT ON COLUMN games.places IS 'seats in the order in which they went out';
COMMENT ON COLUMN games.wake_kind IS 'the next scheduled action: bot, time_out, entropy';
COMMENT ON COLUMN games.wake_at IS 'its time';
COMMENT ON COLUMN games.wake_seat IS 'its seat; no longer used';
COMMENT ON COLUMN games.back IS 'seats whose players came back while a bot stood in';

COMMENT ON TABLE game_seats IS 'The seats of a game, with the summary in games.';
COMMENT ON COLUMN game_seats.kind IS 'human, bot';
COMMENT ON COLUMN game_seats.bot IS 'its name';
COMMENT ON COLUMN game_seats.player_id IS 'also after the player was erased';
COMMENT ON COLUMN game_seats.dealt_at IS 'created_at of the game';

COMMENT ON TABLE tables IS 'A summary of a table.';
COMMENT ON COLUMN tables.host IS 'player';
COMMENT ON COLUMN tables.invite_hash IS 'SHA-256 of the invite of a private table';
COMMENT ON COLUMN tables.hand IS 'the last hand dealt';
COMMENT ON COLUMN tables.game_id IS 'the hand being played';

COMMENT ON COLUMN tables.ready_since IS
    'since when the table waits to deal its next hand by itself; null: it does not';

COMMENT ON TABLE table_seats IS 'The seats of a table.';
COMMENT ON COLUMN table_seats.kind IS 'human, bot, open';

COMMENT ON TABLE refusals IS
    'Refused moves, encrypted by the service, because they name cards that the player may hold. '
    '`arrival` numbers the attempts of a game; null in rows from before migration 0009.';

COMMENT ON TABLE readings IS
    'Access log: reads of a game''s private data by callers who do not own it.';
COMMENT ON COLUMN readings.reader IS 'player; null for a caller with the invite and no token';
COMMENT ON COLUMN readings.version IS 'of the game; null in rows from before migration 0008';

COMMENT ON TABLE notes IS
    'Notes of players on events of a game: outside the record, deleted with the player.';
COMMENT ON COLUMN notes.visibility IS
    'me: the author alone; dispute: also the seats of the game and the referees of its disputes';

COMMENT ON TABLE blocks IS
    'Players whom a player does not want beside them: no invitation or seek seats them together.';
COMMENT ON COLUMN blocks.player IS 'who blocks, and alone may see it';

COMMENT ON TABLE invitations IS
    'Invitations of players to tables by their hosts: outside the streams. A row ends with the '
    'player''s seat, with the table, and if the host withdraws it.';
COMMENT ON COLUMN invitations.declined_at IS 'null while it is open';
COMMENT ON VIEW open_invitations IS
    'Invitations that their player may see: nobody at the table and the player block one another.';

COMMENT ON TABLE seeks IS
    'Wishes of players for a table with anybody; deleted a day after their end, and with the player.';
COMMENT ON COLUMN seeks.rulesets IS 'any of them will do, the preferred one first';
COMMENT ON COLUMN seeks.turn_seconds IS 'the clock, with swap_seconds; null for none';
COMMENT ON COLUMN seeks.key IS 'public key of the seat';
COMMENT ON COLUMN seeks.fill_after IS
    'seconds after created_at at which bots take the empty seats; null: never';
COMMENT ON COLUMN seeks.expires_at IS 'an open seek expires then, unless it is renewed';
COMMENT ON COLUMN seeks.ended_at IS 'matched or withdrawn; null: open or expired';
COMMENT ON COLUMN seeks.table_id IS 'the table of a matched seek';

COMMENT ON TABLE rulesets_custom IS
    'Custom rulesets. The id is the hash of the settings, so a row never changes.';
COMMENT ON COLUMN rulesets_custom.owner IS 'player';
COMMENT ON COLUMN rulesets_custom.document IS 'JSON';

COMMENT ON VIEW game_rows IS 'Games with their seats and the names of their players.';

COMMENT ON VIEW table_rows IS 'Tables with their seats and the names of their players.';

COMMENT ON TABLE disputes IS
    'A summary of a dispute. Texts and names are not in its stream, so that they can be erased; '
    'the stream has commitments to the texts. The frozen evidence is the public bundle, which has '
    'no secret.';
COMMENT ON COLUMN disputes.accuser IS 'player';
COMMENT ON COLUMN disputes.accused IS 'player; null for a bot or the server';
COMMENT ON COLUMN disputes.verdict IS 'of the newest ruling';
COMMENT ON COLUMN disputes.found_at IS 'version of the game at which the findings were made';
COMMENT ON COLUMN disputes.wake_at IS 'end of the next period';
COMMENT ON COLUMN disputes.move IS 'first event of the move; null in older rows';
COMMENT ON COLUMN disputes.proven IS 'the newest ruling is against the server';

COMMENT ON TABLE dispute_referees IS 'The referees of a dispute.';
COMMENT ON COLUMN dispute_referees.referee IS 'number within the dispute';

COMMENT ON TABLE dispute_texts IS
    'Statements of the sides. Text and salt are deleted when their author is erased.';
COMMENT ON COLUMN dispute_texts.seq IS 'the event with the commitment';
COMMENT ON COLUMN dispute_texts.author IS 'player';

COMMENT ON TABLE dispute_bundles IS
    'The evidence as of the opening of the dispute; its SHA-256 is in the stream.';

COMMENT ON TABLE dispute_findings IS 'Findings of the verifier, encrypted by the service.';
COMMENT ON COLUMN dispute_findings.found_at IS 'the game''s version';

COMMENT ON TABLE dispute_votes IS
    'Votes that the server sealed, encrypted by the service; deleted with the ruling.';
COMMENT ON COLUMN dispute_votes.referee IS 'number within the dispute';
COMMENT ON COLUMN dispute_votes.reason IS
    'encrypted, of one length for all votes; null once the referee is erased';

COMMENT ON VIEW unused_players IS
    'Players who were never active: no seat, no table, no ruleset, no part in a dispute.';

COMMENT ON TABLE shuffled_decks IS
    'Data for statistics, taken once from the logs of finished games, from which they can be '
    'computed again. A row is inserted in the transaction that deletes the outbox row that '
    'requested it, so no game is counted twice or left out.';
COMMENT ON COLUMN shuffled_decks.deck IS 'codes in order, with a space between';
COMMENT ON COLUMN shuffled_decks.dealt IS 'cards that left the deck in the deal';
COMMENT ON COLUMN shuffled_decks.to_people IS 'positions dealt to seats of players';

COMMENT ON TABLE blind_choices IS
    'Data for statistics, like shuffled_decks: choices among face-down cards.';
COMMENT ON COLUMN blind_choices.slots IS 'face-down cards to choose from';
COMMENT ON COLUMN blind_choices.playable IS 'of these, cards that fitted';
COMMENT ON COLUMN blind_choices.fitted IS 'whether the chosen card fitted';

COMMENT ON TABLE ratings IS
    'Ratings of players and bots, computed from public hands in the order of the public log. A player '
    'who is erased has none, and after an erasure or a final ruling all are computed again.';
COMMENT ON COLUMN ratings.rated IS 'the id of a player, or bot:<name>';
COMMENT ON COLUMN ratings.player_id IS 'null for a bot';
COMMENT ON COLUMN ratings.mu IS 'the mean of the skill';
COMMENT ON COLUMN ratings.sigma IS 'its standard deviation';
COMMENT ON COLUMN ratings.hands IS 'rated hands';

COMMENT ON TABLE ratings_reached IS 'What the ratings are computed from: one row.';
COMMENT ON COLUMN ratings_reached.leaves IS 'leaves of the public log that are counted';
COMMENT ON COLUMN ratings_reached.erased IS 'erased players then';
COMMENT ON COLUMN ratings_reached.rulings IS 'final rulings against a cad then';

COMMENT ON TABLE log_leaves IS
    'The public log: one Merkle tree over all games, its tiles, heads and signatures. There is '
    'one writer at a time, and leaves are only added, so a head always matches the first `size` '
    'leaves. A head is inserted with its newest leaves and signed afterwards, so that no tree is '
    'signed that is not stored.';
COMMENT ON COLUMN log_leaves.leaf_index IS 'from 0, without gaps';
COMMENT ON COLUMN log_leaves.version IS 'of the game; its head at this version is in the leaf';
COMMENT ON COLUMN log_leaves.data IS 'the body of a receipt';

COMMENT ON TABLE log_hashes IS
    'The hashes in tiles: at level 0 those of the leaves, above it one for each full tile below.';
COMMENT ON COLUMN log_hashes.position IS 'within the level, from 0';

COMMENT ON TABLE log_heads IS
    'The tree after each batch. `note` is null until it is signed; the newest signed head is '
    'served.';
COMMENT ON COLUMN log_heads.note IS 'the checkpoint, signed by the log';

COMMENT ON TABLE log_cosignatures IS
    'Cosignatures of checkpoints by witnesses. They are never deleted, because they are evidence '
    'if the log ever shows different trees to different readers.';
COMMENT ON COLUMN log_cosignatures.witness IS 'its key: name+id+key';
COMMENT ON COLUMN log_cosignatures.line IS 'the signature line';
COMMENT ON INDEX games_running IS 'Running games, which may need further leaves.';

COMMENT ON TABLE trail IS
    'Actions of operators with `shithead admin`. Rows are only added. Players appear here by id '
    'only, so an erasure in `players` covers these rows too.';
COMMENT ON COLUMN trail.operator IS 'the system user, or the value of --as';
COMMENT ON COLUMN trail.act IS 'the command: rename, abort, archive, …';
COMMENT ON COLUMN trail.target IS 'the player, table or game; null if there is none';
COMMENT ON COLUMN trail.outcome IS 'done, or why it was refused';
COMMENT ON INDEX refusals_by_age IS 'Refused moves are deleted by age.';

COMMENT ON TABLE availability IS
    'When the service could take moves, so that clocks give back the time of an outage: one row, '
    'written every second by the sweepers. A gap in `seen_at` is an outage. All times are of the '
    'clock of the database, so that sweepers on several machines agree.';
COMMENT ON COLUMN availability.seen_at IS 'the last sign of life';
COMMENT ON COLUMN availability.able_since IS 'the end of the last outage; null before the first one';

COMMENT ON TABLE write_probes IS
    'The probe of readiness writes here as a move writes to the record, and deletes its row again. '
    'Each probe extends the file of the table, which a full disk refuses.';
COMMENT ON COLUMN write_probes.filler IS 'more than half a page, stored uncompressed';
