-- Privileges of decisions, which are computed from the public log.
REVOKE ALL ON decisions, decision_names, decisions_reached
FROM PUBLIC, shithead_service, shithead_reader, shithead_auditor;

GRANT SELECT ON decisions, decision_names, decisions_reached TO shithead_service;

REVOKE ALL ON FUNCTION number_decision_names, keep_decisions, find_decisions FROM PUBLIC;

GRANT EXECUTE ON FUNCTION number_decision_names, keep_decisions, find_decisions TO shithead_service;
