-- upgrade_finished: whether the service may no longer execute the functions that finish_upgrade revokes.
SELECT NOT has_function_privilege('shithead_service', 'recover_player(bytea, bytea)', 'EXECUTE')
