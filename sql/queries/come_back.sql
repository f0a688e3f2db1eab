-- come_back: store the seats that players took back from stand-in bots.
-- $1 game, $2 its version, $3 all seats that players took back, $4 and $5 kind and time of the next
-- action
SELECT come_back($1::uuid, $2::integer, $3::jsonb, $4::text, $5::timestamptz)
