"""
The HTTP server: Flask application, REST operations, web pages, and request handling.

In the order in which to read: `operation` (the decorator of every endpoint), `call` (a request),
`steps` (from the wire to the answer), `context`, `parsing` and `problems`; the endpoints: `games`,
`hands`, `tables`, `challenges`, `seeks`, `players`, `handles`, `tokens`, `webhooks`, `rulesets`,
`events`, `evidence`, `audit`, `notes`, `moments`, `disputes`, `ratings`, `decisions`; `conventions`
of all answers; live events: `long_poll`, `following`, `audience` and `own_stream`, `stream_server`,
`stream_slots`, `call_threads`; `limits`, `bodies`, `multipart`, `connections` and `observability`;
`openapi` and `answer_headers`, `docs`, `link_previews` and `pages`; `app` puts them together,
`server` and `service/wsgi.py` run it.
Scripts and styles are in `static/`, templates in `templates/`.
"""
