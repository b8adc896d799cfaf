"""Starts a real Keycloak with the realm of the suite, and stops it again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from java import newest_java
from server import ServerFailed, free_ports

START_TIMEOUT = 240.0  # 16 s on a quiet machine


def java_home() -> dict[str, str]:
    """Keycloak needs Java 21 or newer; the machine's first one may be older."""
    home = newest_java(21)
    return {"JAVA_HOME": str(home)} if home else {}


class Keycloak:
    """Use it in a `with`. `home` is the unpacked distribution, which is left as it is."""

    def __init__(self, home: Path):
        self.home = home
        self.directory = Path(tempfile.mkdtemp(prefix="skep-keycloak-"))
        self.port, self.management = free_ports(2)
        self.process: subprocess.Popen | None = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/realms/skep"

    @property
    def token_uri(self) -> str:
        return f"{self.issuer}/protocol/openid-connect/token"

    def settings(self) -> dict[str, str]:
        """The settings of Skep, as environment variables."""
        oidc = "CAMUNDA_SECURITY_AUTHENTICATION_OIDC_"
        initial = "CAMUNDA_SECURITY_INITIALIZATION_"
        return {
            "CAMUNDA_SECURITY_AUTHENTICATION_METHOD": "oidc",
            f"{oidc}ISSUERURI": self.issuer,
            f"{oidc}CLIENTID": "skep",
            f"{oidc}CLIENTSECRET": "skep-secret",
            f"{oidc}CLIENTNAME": "Keycloak",
            f"{oidc}AUDIENCES": "skep,skep-api",
            f"{oidc}USERNAMECLAIM": "preferred_username",
            f"{oidc}CLIENTIDCLAIM": "client_id",
            f"{oidc}CLOCKSKEW": "0s",
            f"{initial}DEFAULTROLES_ADMIN_USERS": "anna",
            f"{initial}DEFAULTROLES_ADMIN_CLIENTS": "worker,patient",
        }

    def __enter__(self) -> "Keycloak":
        self.start()
        return self

    def start(self) -> None:
        environment = os.environ | java_home() | {
            "KC_BOOTSTRAP_ADMIN_USERNAME": "admin", "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin",
            "JAVA_OPTS_KC_HEAP": "-Xms128m -Xmx512m",
        }
        command = [
            str(self.home / "bin/kc.sh"), "start-dev", "--http-host=127.0.0.1", f"--http-port={self.port}",
            f"--http-management-port={self.management}", "--import-realm",
            # What it learns is gone with it; the realm is imported at each start that does not find it.
            f"--db-url=jdbc:h2:file:{self.directory}/h2;NON_KEYWORDS=VALUE;DB_CLOSE_ON_EXIT=0;DB_CLOSE_DELAY=0",
        ]
        log = (self.directory / "log").open("ab")
        self.process = subprocess.Popen(
            command, env=environment, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )
        started = time.monotonic()
        while time.monotonic() - started < START_TIMEOUT:
            if self.process.poll() is not None:
                break
            try:
                with urllib.request.urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=5):
                    print(f"  Keycloak ready after {time.monotonic() - started:.0f} s", flush=True)
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        text = (self.directory / "log").read_text(errors="replace")
        self.__exit__()
        raise ServerFailed("Keycloak did not start:\n" + "\n".join(text.splitlines()[-40:]))

    def kill(self) -> None:
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def __exit__(self, *_) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def token(self, realm: str = "skep", **form: str) -> str:
        """An access token, by any grant."""
        uri = self.token_uri.replace("/realms/skep/", f"/realms/{realm}/")
        body = urllib.parse.urlencode(form).encode()
        with urllib.request.urlopen(uri, data=body, timeout=30) as answer:
            return json.load(answer)["access_token"]

    def of_client(self, name: str) -> str:
        return self.token(grant_type="client_credentials", client_id=name, client_secret=f"{name}-secret")

    def of_user(self, name: str, realm: str = "skep") -> str:
        return self.token(
            realm, grant_type="password", client_id="skep", client_secret="skep-secret", username=name,
            password=f"{name}-secret",
        )

    def add_realm(self, realm: dict) -> str:
        """The issuer of another realm."""
        self.administer("", json.dumps(realm).encode(), realms="admin/realms")
        return self.issuer.replace("/realms/skep", f"/realms/{realm['realm']}")

    def make(self, what: str, one: dict) -> None:
        """Adds something to the realm, as its administrator."""
        self.administer(what, json.dumps(one).encode())

    def administer(self, what: str, body: bytes | None = None, realms: str = "admin/realms/skep") -> bytes:
        admin = self.token("master", grant_type="password", client_id="admin-cli", username="admin", password="admin")
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{realms}/{what}".rstrip("/"), data=body,
            headers={"authorization": f"Bearer {admin}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def end_sessions(self, name: str) -> None:
        """Ends all logins of a user, as its administrator does."""
        [user] = json.loads(self.administer(f"users?username={name}&exact=true"))
        self.administer(f"users/{user['id']}/logout", b"")

    def rotate(self) -> None:
        """Another key signs from now on."""
        component = {
            "name": f"key-{time.time()}", "providerId": "rsa-generated",
            "providerType": "org.keycloak.keys.KeyProvider",
            "config": {"priority": [str(int(time.time()))], "keySize": ["2048"], "algorithm": ["RS256"]},
        }
        self.make("components", component)


if __name__ == "__main__":
    with Keycloak(Path(sys.argv[1])):
        pass
