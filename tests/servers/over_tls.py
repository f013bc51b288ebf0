"""Speaks TLS for a server that does not, with nothing but the standard library.

usage: over_tls.py CERTIFICATE KEY ADDRESS PORT; prints the port that it listens on.
"""

import socket
import ssl
import sys
import threading

certificate, key, address, port = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
context.set_alpn_protocols(["http/1.1"])


def pass_on(source, sink):
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
    except OSError:
        pass
    finally:
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def serve(stream):
    try:
        near = context.wrap_socket(stream, server_side=True)
        far = socket.create_connection((address, int(port)))
    except OSError:
        stream.close()
        return
    threading.Thread(target=pass_on, args=(near, far), daemon=True).start()
    pass_on(far, near)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
