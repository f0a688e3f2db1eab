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
-- $1 codes, $2 places of ranges with $3 least and $4 greatest code, $5 least and $6 greatest milliseconds or
-- null, $7 the most that are counted, $8 leaf and $9 event before which the page begins, $10 row limit of the page,
-- $11 place of the choice, $12 place of who decided, $13 place of the result, $14 the code of a lost hand, $15 the
-- base of numbers of names
WITH found AS MATERIALIZED (
    SELECT * FROM find_decisions(
        $1::integer[], $2::integer[], $3::integer[], $4::integer[], $5::integer, $6::integer, $7::integer
    )
),
page AS (
    SELECT f.leaf, f.event, f.took, f.seat, f.codes, l.game_id, n.name, n.player_id
    FROM (
        SELECT * FROM found
        WHERE (leaf, event) < ($8::bigint, $9::bigint)
        ORDER BY leaf DESC, event DESC
        LIMIT $10::bigint
    ) f
    JOIN log_leaves l ON l.leaf_index = f.leaf
    LEFT JOIN decision_names n ON n.number = f.codes[$12::integer] - $15::integer
),
chosen AS (
    SELECT
        codes[$11::integer] - $15::integer AS number,
        count(*) AS n,
        count(*) FILTER (WHERE codes[$13::integer] >= $14::integer - 1) AS ended,
        count(*) FILTER (WHERE codes[$13::integer] = $14::integer) AS lost
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
        WHERE d.number IN (SELECT unnest(p.codes) - $15::integer FROM page p)
    )
