-- accusations_of: counts of a player's accusations, and whether the player is a cad.
--
-- `upheld` and `cad` count final rulings only; `known` counts disputes about public games, and those
-- with a final ruling.
-- $1 player, $2 disputes opened after this time count as new
SELECT
    count(*) FILTER (WHERE d.accuser = $1::uuid) AS made,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND final AND found) AS upheld,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND NOT final) AS running,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND d.opened_at > $2::timestamptz) AS new,
    coalesce(bool_or(d.accused = $1::uuid AND final AND d.verdict = 'cad'), false) AS cad,
    count(*) FILTER (
        WHERE d.accuser = $1::uuid AND (g.public OR (final AND (found OR d.verdict IS NOT NULL)))
    ) AS known
FROM disputes d
LEFT JOIN games g ON g.game_id = d.game_id
CROSS JOIN LATERAL (
    SELECT
        d.state = 'final' AS final,
        coalesce(d.verdict = 'cad', false) OR coalesce(d.proven, false) AS found
) s
WHERE d.accuser = $1::uuid OR d.accused = $1::uuid
