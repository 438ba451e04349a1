"""A broker with what others are protected by: passwords, certificates; and one listener behind a proxy."""

from __future__ import annotations

import subprocess
from pathlib import Path

from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from penstock.cli.dev_servers.server import Server
from services.kafka import KafkaBroker

USER = "penstock"
PASSWORD = "right-and-secret"
_STORE_PASSWORD = "of-the-store"


class SecureKafkaBroker(KafkaBroker):
    """Listeners: open; SASL_PLAINTEXT with SCRAM-SHA-512; SASL_SSL with PLAIN; one that sends clients to a proxy."""

    def __init__(self, directory: Path) -> None:
        Server.__init__(self, directory, ports=6)
        self._fetch = False

    @property
    def certificate(self) -> Path:
        """The broker's own certificate, as PEM: nobody else has signed it."""
        return self.directory / "broker.pem"

    @property
    def behind_proxy(self) -> int:
        """The port that a proxy forwards to."""
        return self.ports[4]

    @property
    def of_proxy(self) -> int:
        """The port that clients of the last listener are told: that of a proxy."""
        return self.ports[5]

    def settings(self) -> dict[str, str]:
        """The broker's properties."""
        open_port, controller, scram, tls, hidden, advertised = self.ports
        host = "127.0.0.1"
        return {
            **super().settings(),
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SCRAM:SASL_PLAINTEXT,"
            "TLS:SASL_SSL,PROXIED:PLAINTEXT",
            "listeners": f"PLAINTEXT://{host}:{open_port},CONTROLLER://{host}:{controller},SCRAM://{host}:{scram},"
            f"TLS://{host}:{tls},PROXIED://{host}:{hidden}",
            "advertised.listeners": f"PLAINTEXT://{host}:{open_port},SCRAM://{host}:{scram},TLS://{host}:{tls},"
            f"PROXIED://{host}:{advertised}",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.scram.sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.scram.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram."
            "ScramLoginModule required;",
            "listener.name.tls.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.tls.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
            f'required user_{USER}="{PASSWORD}";',
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self._key_store),
            "ssl.keystore.password": _STORE_PASSWORD,
        }

    def prepare(self) -> None:
        """Makes a key and a certificate before the first start."""
        if not self.certificate.exists():
            self._keytool("-genkeypair", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=127.0.0.1")
            self._keytool("-exportcert", "-rfc", "-file", str(self.certificate))
        super().prepare()

    def start(self, *, outlive: bool = False) -> None:
        """Starts it, with a user who may come in by SCRAM."""
        super().start(outlive=outlive)
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        user = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
        for future in admin.alter_user_scram_credentials([user]).values():
            future.result(30)

    def properties(self, listener: str, password: str = PASSWORD) -> dict[str, str]:
        """How a client comes in: `scram` or `tls`."""
        login = {"sasl.username": USER, "sasl.password": password}
        if listener == "scram":
            return {
                "bootstrap.servers": f"127.0.0.1:{self.ports[2]}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                **login,
            }
        return {
            "bootstrap.servers": f"127.0.0.1:{self.ports[3]}",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            # As people bring it from Flink.
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{USER}" password="{password}";',
            "ssl.ca.location": str(self.certificate),
        }

    @property
    def _key_store(self) -> Path:
        return self.directory / "broker.p12"

    def _keytool(self, *arguments: str) -> None:
        store = ["-keystore", str(self._key_store), "-storepass", _STORE_PASSWORD, "-storetype", "PKCS12"]
        extra = ["-ext", "SAN=ip:127.0.0.1", "-validity", "2"] if "-genkeypair" in arguments else []
        command = ["keytool", arguments[0], "-alias", "broker", *arguments[1:], *store, *extra]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
