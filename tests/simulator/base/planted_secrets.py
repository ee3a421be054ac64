"""Secrets of each kind as tools quote them in their errors; each is put together here, so that no scanner takes it for a real one."""

from __future__ import annotations

import base64
from urllib.parse import quote_plus

ENVIRONMENT = "correct-horse-battery-staple"
LINES = "first line of it\nsecond line of it"

_BODY = "Zk3vQ9xT7bLm2NpR8sWd"
_PEM = "-----BEGIN {0}PRIVATE KEY-----\n{1}\n{1}\n-----END {0}PRIVATE KEY-----"

SECRETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "value of the environment": (f"refused {ENVIRONMENT} twice", (ENVIRONMENT,)),
    "value of the environment in a literal": (f"{{'x': {LINES!r}}}", ("second line",)),
    "value of the environment in a form": (f"x={quote_plus(LINES)}&y=1", ("second+line",)),
    "value of the environment in base64": (
        f"sent {base64.b64encode(ENVIRONMENT.encode()).decode()}",
        (base64.b64encode(ENVIRONMENT.encode()).decode()[:-2],),
    ),
    "bearer": (f"Authorization: Bearer {_BODY}", (_BODY,)),
    "bearer alone": (f"sent Bearer {_BODY} to it", (_BODY,)),
    "basic": (
        "headers={'Authorization': 'Basic " + base64.b64encode(b"anne:hunter2").decode() + "'}",
        (base64.b64encode(b"anne:hunter2").decode(),),
    ),
    "connection string": ("postgresql://anne:hunter2/#?@db.example:5432/x", ("hunter2",)),
    "redis": ("redis://:hunter2@cache.example/0", ("hunter2",)),
    "token in an address": (f"https://{_BODY}@git.example/x.git", (_BODY,)),
    "odbc": ("Server=db;Uid=anne;Pwd=hunter2;Database=x", ("hunter2",)),
    "azure": (f"AccountName=x;AccountKey={_BODY}==;EndpointSuffix=y", (_BODY,)),
    "query": (f"GET https://api.example/v1/x?key={_BODY}&page=2", (_BODY,)),
    "signature in a query": (f"https://s3.example/x?X-Amz-Signature={_BODY}", (_BODY,)),
    "private key": (_PEM.format("RSA ", _BODY), (_BODY,)),
    "private key in JSON": (repr(_PEM.format("", _BODY)), (_BODY,)),
    "private key cut off": (_PEM.format("EC ", _BODY)[:60], (_BODY[:10],)),
    "aws": ("denied for " + "AKIA" + "IOSFODNN7EXAMPLE", ("IOSFODNN7",)),
    "aws secret": (f"aws_secret_access_key = {_BODY}/x", (_BODY,)),
    "github": ("bad credentials " + "ghp_" + _BODY, (_BODY,)),
    "slack": ("invalid_auth xoxb" + f"-123456789-{_BODY}", (_BODY,)),
    "slack hook": (f"https://hooks.slack.com/services/T0/B0/{_BODY}", (_BODY,)),
    "google": ("API key not valid: " + "AIza" + _BODY + _BODY, (_BODY,)),
    "google access token": ("ya29" + f".{_BODY}", (_BODY,)),
    "jwt": (f"expired: eyJhbGciOiJIUzI1NiJ9.{_BODY}.{_BODY}", (_BODY,)),
    "dict": ("{'user': 'anne', 'password': 'hun\\'ter2 x'}", ("hun", "ter2")),
    "JSON": ('{"client_secret": "hun\\"ter2", "a": 1}', ("hun", "ter2")),
    "JSON in JSON": ('"{\\"password\\": \\"hunter2\\"}"', ("hunter2",)),
    "bytes": ("Config(password=b'hunter2', host='x')", ("hunter2",)),
    "list of headers": ("[('X-Api-Key', 'hunter2'), ('Accept', '*')]", ("hunter2",)),
    "several lines": ("password='hunter2\nhunter3'", ("hunter2", "hunter3")),
    "option": ("psql --password hunter2 failed", ("hunter2",)),
    "element": ("<wsse:Password Type='x'>hunter2</wsse:Password>", ("hunter2",)),
    "cookie": ("Cookie: session=hunter2; csrf=hunter3", ("hunter2", "hunter3")),
    "telegram": (f"https://api.telegram.org/bot123456789:{_BODY}/getMe failed", (_BODY,)),
    "telegram's other form": (f"https://api.telegram.org/file/bot{_BODY}/x", (_BODY,)),
    "provided": (f"Incorrect API key provided: {_BODY}. See the docs.", (_BODY,)),
    "quoted": ("Invalid API key 'hunter2' for anne", ("hunter2",)),
    "quoted twice": ('the token "hunter2" has expired', ("hunter2",)),
    "said": ("the password is hunter2, as before", ("hunter2",)),
    "list": ("Config(api_keys=['hunter2', \"hunter3\"], host='x')", ("hunter2", "hunter3")),
    "list in JSON": ('{"tokens": ["hunter2", "hunter3"], "a": ["b"]}', ("hunter2", "hunter3")),
    "list cut off": ("secrets=('hunter2', 'hunter3", ("hunter2", "hunter3")),
    "without a scheme": ("cannot reach anne:hunter2@db.example:5432", ("hunter2",)),
    "curl": ("curl -s -u anne:hunter2 https://x.example", ("hunter2",)),
    "arguments of curl": ("['curl', '--user', 'anne:hunter2']", ("hunter2",)),
    "pass": ("user=anne pass=hunter2 host=x", ("hunter2",)),
    "pw": ("{'db_pw': 'hunter2'} --pass hunter3", ("hunter2", "hunter3")),
    "negotiate": (f"Proxy-Authorization: Negotiate {_BODY}==", (_BODY,)),
    "negotiate alone": (f"sent Negotiate {_BODY}==", (_BODY,)),
    "literal with a field": ("passwd = f'hunter2'", ("hunter2",)),
    "jwe": (f"expired: eyJhbGciOiJkaXIifQ..{_BODY}.{_BODY}.{_BODY}", (_BODY,)),
    **{
        prefix: (f"denied for {prefix}{body}", (body,))
        for prefix, body in {
            "hvs" + ".": _BODY,
            "dapi": "0123456789abcdef" * 2,
            "dckr" + "_pat_": _BODY,
            "pcsk" + "_": _BODY,
            "r8" + "_": _BODY,
            "lsv2" + "_pt_": _BODY,
            "tvly" + "-": _BODY,
            "key" + "-": "0123456789abcdef" * 2,
        }.items()
    },
    "auth": ("get(url, auth=('anne', 'hunter2'))", ("hunter2",)),
}
"""Each text, and what of it nobody may read."""


def leaks(text: str) -> list[str]:
    """Return the kinds of which something can be read in a text."""
    return [kind for kind, (_, parts) in SECRETS.items() if any(part in text for part in parts)]
