-- save_ruleset_within: save_ruleset for an owner with fewer than `most` rulesets; else SH429.
--
-- A ruleset that is stored already does not count against the quota.
CREATE OR REPLACE FUNCTION save_ruleset_within(
    ruleset text, its_name text, its_owner uuid, its_document text, at timestamptz, most integer
) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM rulesets_custom r WHERE r.ruleset_id = ruleset) THEN
        RETURN false;
    END IF;
    PERFORM refuse_over_quota(jsonb_build_array(
        jsonb_build_object('player', its_owner, 'kind', 'rulesets', 'most', most)
    ));
    RETURN save_ruleset(ruleset, its_name, its_owner, its_document, at);
END
$$;
