-- dispute_bundle: the evidence that was frozen when a dispute was opened.
-- $1 dispute
SELECT bundle FROM dispute_bundles WHERE dispute_id = $1::uuid
