-- finish_upgrade: revoke the functions that only processes of earlier releases call.
--
-- With them a connection of the service could take over accounts, or add refused attempts after a seal.
REVOKE EXECUTE ON FUNCTION
    rotate_token, recover_player, erase_player, set_name, set_recovery, record_refusal
FROM shithead_service
