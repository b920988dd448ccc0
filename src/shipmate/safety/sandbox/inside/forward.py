"""From the loopback of a room without a network to the server's filter, through its socket."""

import os
import signal
import socket
import threading

PORT = 3128
"""On which proxies are usually found; the loopback is the room's own."""
PIECE = 65_536


def start(path: str) -> int:
    """Listen, then serve in a process of its own; gives its id."""
    listening = socket.create_server(("127.0.0.1", PORT), backlog=128)
    pid = os.fork()
    if pid:
        listening.close()
        return pid
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=relay, args=(accepted, path), daemon=True).start()
    finally:
        os._exit(1)


def relay(inside: socket.socket, path: str) -> None:
    """Both ways until both ends have ended."""
    with inside, socket.socket(socket.AF_UNIX) as outside:
        try:
            outside.connect(path)
        except OSError:
            return
        back = threading.Thread(target=copy, args=(outside, inside), daemon=True)
        back.start()
        copy(inside, outside)
        back.join()


def copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(PIECE):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, sink):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
