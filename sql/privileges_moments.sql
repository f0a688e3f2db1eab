-- Privileges of moments, which players keep for themselves.
REVOKE ALL ON moments FROM PUBLIC, shithead_service, shithead_reader, shithead_auditor;

GRANT SELECT ON moments TO shithead_service;

REVOKE ALL ON FUNCTION keep_moment, change_moments, delete_moment FROM PUBLIC;

GRANT EXECUTE ON FUNCTION keep_moment, change_moments, delete_moment TO shithead_service;
