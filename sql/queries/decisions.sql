-- decisions_reached: how many leaves of the public log the stored decisions are from.
SELECT leaves FROM decisions_reached

-- number_decision_names: the numbers of names, new ones for those without one.
-- $1 names, $2 the player of each, or null
SELECT n.name, n.number FROM number_decision_names($1::text[], $2::uuid[]) n

-- keep_decisions: store the decisions of a hand.
-- $1 leaves counted before, $2 leaves counted now, $3 decisions as JSON
SELECT keep_decisions($1::bigint, $2::bigint, $3::jsonb)

-- decision_numbers: the numbers of those of some names that have one.
-- $1 names
SELECT name, number FROM decision_names WHERE name = ANY ($1::text[])

-- find_decisions: the newest decisions that meet conditions: how many, how often each was chosen, and a page.
-- $1 codes, $2 groups of codes, $3 least and $4 greatest milliseconds or null, $5 the most that are counted,
-- $6 leaf and $7 event before which the page begins, $8 row limit of the page, $9 place of the choice, $10 place of
-- who decided, $11 place of the result, $12 the least code of a hand with a loser, $13 that of a lost hand, $14 the
-- base of numbers of names
WITH found AS MATERIALIZED (
    SELECT * FROM find_decisions($1::integer[], $2::jsonb, $3::integer, $4::integer, $5::integer)
),
page AS (
    SELECT f.leaf, f.event, f.took, f.seat, f.codes, l.game_id, n.name, n.player_id
    FROM (
        SELECT * FROM found
        WHERE (leaf, event) < ($6::bigint, $7::bigint)
        ORDER BY leaf DESC, event DESC
        LIMIT $8::bigint
    ) f
    JOIN log_leaves l ON l.leaf_index = f.leaf
    LEFT JOIN decision_names n ON n.number = f.codes[$10::integer] - $14::integer
),
chosen AS (
    SELECT
        codes[$9::integer] - $14::integer AS number,
        count(*) AS n,
        count(*) FILTER (WHERE codes[$11::integer] >= $12::integer) AS ended,
        count(*) FILTER (WHERE codes[$11::integer] >= $13::integer) AS lost
    FROM found
    GROUP BY 1
)
SELECT
    (SELECT count(*) FROM found),
    (SELECT count(DISTINCT leaf) FROM found),
    (
        SELECT coalesce(jsonb_agg(jsonb_build_array(d.name, c.n, c.ended, c.lost)), '[]')
        FROM chosen c
        JOIN decision_names d ON d.number = c.number
    ),
    (
        SELECT coalesce(jsonb_agg(to_jsonb(p) ORDER BY p.leaf DESC, p.event DESC), '[]')
        FROM page p
    ),
    (
        SELECT coalesce(jsonb_object_agg(d.number, d.name), '{}')
        FROM decision_names d
        WHERE d.number IN (SELECT unnest(p.codes) - $14::integer FROM page p)
    )
