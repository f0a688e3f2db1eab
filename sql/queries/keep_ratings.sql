-- keep_ratings: store changed ratings.
-- $1 leaves counted before, $2 leaves counted now, $3 erased players, $4 final rulings, $5 ratings,
-- $6 whether they replace all others
SELECT keep_ratings($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::jsonb, $6::boolean)
