"""
HTTP conventions of all answers, one a module.

In the order in which to read: `media_types` (and Accept), `responses`, `paging`, `idempotency`,
`etags` (and If-Match), `caching`, `lifecycle`, `security_headers`, `cors`, `compression`;
`registration` adds those of every answer.
"""
