"""Lines of text from a TCP connection."""

from penstock.connectors.socket.source import SocketTextSource

__all__ = ["SocketTextSource"]
