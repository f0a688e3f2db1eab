-- append_game_move: write an ordinary move; null, or the reason why nothing was written.
-- $1 token hash, $2 game, $3 its version, $4 the events, $5 the new head, $6 its row as JSON,
-- $7 topic of the outbox row, $8 caller, $9 request key, $10 body hash, $11 content of the answer
SELECT append_game_move(
    $1::bytea, $2::uuid, $3::integer, $4::text, $5::bytea, $6::jsonb,
    $7::text, $8::uuid, $9::bytea, $10::bytea, $11::bytea
)
