"""
HTTP conventions of all answers, one a module.

In the order in which to read: `media_types` (and Accept), `responses`, `idempotency`, `etags` (and
If-Match), `caching`, `security_headers`, `cors`, `compression`; `registration` adds those of every
answer.
"""
