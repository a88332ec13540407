"""What every page in a browser shows."""

PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Cogency</title>'
    '<meta name="viewport" content="width=device-width"><style>body{{font:16px/1.5 sans-serif;max-width:34em;'
    "margin:3em auto;padding:0 1em}}button{{font:inherit;padding:.5em 1em}}</style></head><body>{body}</body></html>"
)
LATER = "<h1>Please try again in a moment</h1><p>Cogency is still starting, or it cannot reach its database.</p>"
