-- keep_ratings: store ratings that hands up to a leaf have changed.
--
-- Returns false, and changes nothing, if another process has counted leaves since `before`. With
-- `anew` the given ratings replace all others. A player who was erased meanwhile gets none. `erased` and `rulings` are the numbers of erased
-- players and of final rulings against a cad for which they were computed.
CREATE OR REPLACE FUNCTION keep_ratings(
    before bigint, reached bigint, erased bigint, rulings bigint, its_ratings jsonb, anew boolean
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    UPDATE ratings_reached r
    SET leaves = reached, erased = keep_ratings.erased, rulings = keep_ratings.rulings
    WHERE r.leaves = before;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF anew THEN
        DELETE FROM ratings;
    END IF;
    INSERT INTO ratings (ruleset_id, rated, player_id, mu, sigma, hands)
    SELECT f.ruleset_id, f.rated, f.player_id, f.mu, f.sigma, f.hands
    FROM jsonb_populate_recordset(NULL::ratings, its_ratings) f
    WHERE NOT EXISTS (
        SELECT FROM players p WHERE p.player_id = f.player_id AND p.erased_at IS NOT NULL
    )
    ON CONFLICT ON CONSTRAINT ratings_pkey
    DO UPDATE SET mu = excluded.mu, sigma = excluded.sigma, hands = excluded.hands;
    RETURN true;
END
$$;
