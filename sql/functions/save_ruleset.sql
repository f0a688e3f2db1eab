-- save_ruleset: store a ruleset under the hash of its settings; returns whether it is new.
--
-- If the same settings are stored already, the first name and owner stay. SH401 if the owner was
-- erased.
CREATE OR REPLACE FUNCTION save_ruleset(
    ruleset text, its_name text, its_owner uuid, its_document text, at timestamptz
) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT hold_players(ARRAY[its_owner]);
    WITH done AS (
        INSERT INTO rulesets_custom (ruleset_id, name, owner, document, created_at)
        VALUES (ruleset, its_name, its_owner, its_document, at)
        ON CONFLICT ON CONSTRAINT rulesets_custom_pkey DO NOTHING
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM done)
$$;
