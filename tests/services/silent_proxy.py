"""A proxy that forwards bytes until it is told to swallow them: connections stay open, and nobody answers."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from typing import Self


class SilentProxy:
    """Listens on one port of loopback and forwards to another."""

    def __init__(self, target: int, port: int = 0) -> None:
        self._target = target
        self._server = socket.create_server(("127.0.0.1", port))
        self._sockets: list[socket.socket] = [self._server]
        self._is_closed = False
        self.connections = 0
        """How many have come so far."""
        self.forwarded = 0
        """How many bytes have passed."""
        self.swallows = False
        """Whether what is sent goes nowhere."""
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_closed = True
        for each in self._sockets:
            with suppress(OSError):
                each.close()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            self._sockets.append(client)
            threading.Thread(target=self._forward, args=(client,), daemon=True).start()

    def _forward(self, client: socket.socket) -> None:
        with suppress(OSError, ValueError), socket.create_connection(("127.0.0.1", self._target)) as server:
            self._sockets.append(server)
            others = {client: server, server: client}
            while not self._is_closed:
                ready, _, _ = select.select(list(others), [], [], 1)
                for each in ready:
                    content = each.recv(1 << 16)
                    if self.swallows:
                        if not content:
                            others.pop(each)
                        continue
                    if not content:
                        client.close()
                        return
                    self.forwarded += len(content)
                    others[each].sendall(content)
