"""
JSON of the interface: requests, answers, events and settings as schemas.

In the order in which to read: `strict_fields` (no coercion), `visible_text`, `errors`; `moves`,
`views` and `games`, `tables`, `seeks`, `long_polls`, `players`, `challenges`, `tokens`, `notices`,
`webhooks`, `rulesets` and `settings`, `disputes`, `audit`, `what_if`, `notes`, `moments`,
`ratings`, `decisions`; `events` (to and from the classes of the domain) and `event_fields` (in
the document).
"""
