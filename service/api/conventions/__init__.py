"""
HTTP conventions of all answers, one a module; in the order in which to read them.

`media_types` (and Accept), `responses`, `idempotency`, `etags` (and If-Match), `caching`,
`security_headers`, `cors`, `compression`; `registration` adds those of every answer.
"""
