-- accusations_of: how often a person accused, how often rightly, and whether they are a cad.
-- $1 player, $2 disputes opened after this time count as new
SELECT
    count(*) FILTER (WHERE d.accuser = $1::uuid) AS made,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND d.verdict = 'cad') AS upheld,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND d.state <> 'final') AS running,
    count(*) FILTER (WHERE d.accuser = $1::uuid AND d.opened_at > $2::timestamptz) AS new,
    coalesce(bool_or(d.accused = $1::uuid AND d.verdict = 'cad'), false) AS cad
FROM disputes d
WHERE d.accuser = $1::uuid OR d.accused = $1::uuid
