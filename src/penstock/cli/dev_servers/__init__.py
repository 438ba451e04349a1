"""Real servers on loopback, for trying things out and for Penstock's own tests."""

from penstock.cli.dev_servers.kafka import KafkaServer
from penstock.cli.dev_servers.postgres import PostgresServer
from penstock.cli.dev_servers.server import Server, ServerError

__all__ = ["KafkaServer", "PostgresServer", "Server", "ServerError"]
