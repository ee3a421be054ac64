"""An identity provider on a loopback port that speaks OpenID Connect, and lets in whoever a test says is there."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwk, jwt

CLIENT_ID, CLIENT_SECRET = "studio", secrets.token_urlsafe(16)
_HOUR = 3600


@dataclass
class Provider:
    """The provider. `people` holds its claims of each person by the name that their browser gives in the cookie `who`."""

    url: str
    people: dict[str, dict[str, Any]]
    key: jwk.RSAKey = field(default_factory=lambda: jwk.RSAKey.generate_key(2048, {"kid": "test"}))
    codes: dict[str, tuple[str, str]] = field(default_factory=dict)

    def secrets_toml(self, studio: str) -> str:
        """Write the secrets of a studio at an address whose people log in here."""
        lines = {
            "redirect_uri": f"{studio}/oauth2callback",
            "cookie_secret": secrets.token_urlsafe(32),
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "server_metadata_url": f"{self.url}/.well-known/openid-configuration",
        }
        return "\n".join(("[auth]", *(f"{name} = {json.dumps(value)}" for name, value in lines.items()), ""))

    def metadata(self) -> dict[str, Any]:
        """Return where everything is."""
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def code_for(self, who: str, nonce: str) -> str:
        """Return the code with which the studio asks who somebody is."""
        code = secrets.token_urlsafe(16)
        self.codes[code] = who, nonce
        return code

    def tokens(self, code: str) -> dict[str, Any]:
        """Return the tokens for a code, once."""
        who, nonce = self.codes.pop(code)
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + _HOUR, "nonce": nonce}
        id_token = jwt.encode({"alg": "RS256", "kid": "test"}, claims | self.people[who], self.key)
        return {"access_token": "x", "token_type": "Bearer", "expires_in": _HOUR, "id_token": id_token}


@contextmanager
def oidc_provider(people: dict[str, dict[str, Any]]) -> Iterator[Provider]:
    """Run a provider while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    provider = Provider(f"http://127.0.0.1:{server.server_port}", people)
    server.provider = provider  # type: ignore[attr-defined] # how the handler finds it
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer what a browser or the studio asks."""
        provider: Provider = self.server.provider  # type: ignore[attr-defined] # as above
        asked = urlsplit(self.path)
        match asked.path:
            case "/.well-known/openid-configuration":
                self._json(provider.metadata())
            case "/keys":
                self._json({"keys": [provider.key.as_dict(private=False)]})
            case "/authorize":
                self._let_in(provider, {name: values[0] for name, values in parse_qs(asked.query).items()})
            case _:
                self._json({"error": "not found"}, 404)

    def do_POST(self) -> None:
        """Give the tokens for a code."""
        provider: Provider = self.server.provider  # type: ignore[attr-defined] # as above
        said = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if self.headers.get("Authorization") != f"Basic {basic}":
            self._json({"error": "invalid_client"}, 401)
        else:
            self._json(provider.tokens(said["code"][0]))

    def _let_in(self, provider: Provider, asked: dict[str, str]) -> None:
        who = (self.headers.get("Cookie") or "").partition("who=")[2].partition(";")[0]
        back = {"code": provider.code_for(who, asked.get("nonce", "")), "state": asked["state"]}
        self.send_response(302)
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(back)}")
        self.end_headers()

    def _json(self, value: object, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class gives it
        """Say nothing."""
