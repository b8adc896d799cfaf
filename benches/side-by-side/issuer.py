"""An identity provider for measurements: a discovery document, one RSA key, and tokens for clients, as large as those of Keycloak.

It signs with the `openssl` of the machine, a token at a time: a load asks for one in some seconds.
"""

import base64
import http.server
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.parse

AUDIENCE = "skep"
SUBJECT = "bench"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True).stdout


class Issuer:
    """Its tokens name the user `bench`. `/SECONDS/token` issues those that live so long."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        self.key = os.path.join(self.directory.name, "key.pem")
        openssl("genrsa", "-out", self.key, "2048")
        modulus = openssl("rsa", "-in", self.key, "-noout", "-modulus").decode().strip().removeprefix("Modulus=")
        self.public = {
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": "bench", "e": "AQAB", "n": base64url(bytes.fromhex(modulus)),
        }  # fmt: skip
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/keys":
                    return self.answer({"keys": [issuer.public]})
                if self.path == "/.well-known/openid-configuration":
                    return self.answer({"issuer": issuer.uri, "jwks_uri": f"{issuer.uri}/keys"})
                return self.send_error(404)

            def do_POST(self):
                form = self.rfile.read(int(self.headers.get("content-length", 0)))
                form = dict(urllib.parse.parse_qsl(form.decode()))
                seconds, _, what = self.path.strip("/").partition("/")
                if what != "token" or not seconds.isdigit() or form.get("grant_type") != "client_credentials":
                    return self.send_error(400)
                token = issuer.token(int(seconds))
                return self.answer({"access_token": token, "token_type": "Bearer", "expires_in": int(seconds)})

            def answer(self, document):
                body = json.dumps(document).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.uri = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, seconds):
        now = int(time.time())
        claims = {
            "iss": self.uri, "sub": SUBJECT, "aud": [AUDIENCE, "account"], "azp": SUBJECT, "typ": "Bearer", "acr": "1",
            "iat": now, "exp": now + seconds, "jti": os.urandom(16).hex(), "preferred_username": f"service-account-{SUBJECT}",
            "scope": "openid profile email", "email_verified": False, "clientHost": "127.0.0.1", "clientAddress": "127.0.0.1",
            "allowed-origins": ["/*"],
            "realm_access": {"roles": ["offline_access", "uma_authorization", "default-roles-bench"]},
            "resource_access": {"account": {"roles": ["manage-account", "manage-account-links", "view-profile"]}},
        }  # fmt: skip
        header = {"alg": "RS256", "typ": "JWT", "kid": "bench"}
        text = ".".join(base64url(json.dumps(part).encode()) for part in (header, claims))
        signature = openssl("dgst", "-sha256", "-sign", self.key, data=text.encode())
        return f"{text}.{base64url(signature)}"

    def settings(self):
        """What makes a server take its tokens, and only as long as they are valid."""
        oidc = {"issuer-uri": self.uri, "audiences": AUDIENCE, "clock-skew": "0s"}
        return {"camunda.security.authentication.method": "oidc"} | {
            f"camunda.security.authentication.oidc.{name}": value for name, value in oidc.items()
        }

    def variables(self, seconds):
        """What makes `skep load` get tokens that live so long, and renew them."""
        return {
            "CAMUNDA_OAUTH_URL": f"{self.uri}/{seconds}/token",
            "CAMUNDA_CLIENT_ID": SUBJECT,
            "CAMUNDA_CLIENT_SECRET": "bench-secret",
            "CAMUNDA_TOKEN_AUDIENCE": AUDIENCE,
        }
