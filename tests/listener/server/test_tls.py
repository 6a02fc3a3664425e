"""The listener with a certificate: https only, and words for files that cannot be used."""

from __future__ import annotations

import contextlib
import http.client
import signal
import ssl
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from support.listening import HEADER, SECRET, Listener, event, listening, run, signature, until
from support.tls import Authority
from support.waiting import PATIENCE


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def apart(file: Path, folder: Path) -> tuple[Path, Path]:
    """A certificate and its key in files of their own."""
    text = file.read_text(encoding="ascii")
    place = text.index("-----BEGIN PRIVATE KEY-----")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(text[:place], encoding="ascii")
    key.write_text(text[place:], encoding="ascii")
    return certificate, key


@contextlib.contextmanager
def https(listener: Listener, context: ssl.SSLContext) -> Iterator[http.client.HTTPSConnection]:
    connection = http.client.HTTPSConnection("localhost", listener.port, timeout=PATIENCE, context=context)
    with contextlib.closing(connection):
        yield connection


def deliver(connection: http.client.HTTPSConnection, body: bytes, signed: str) -> int:
    connection.request("POST", "/webhook", body, {HEADER: signed})
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("form", ["one file", "two files"])
def test_deliveries_arrive_over_https_only(form: str, authority: Authority, tmp_path: Path) -> None:
    file = authority.certificate("localhost")
    certificate, key = apart(file, tmp_path)
    given = ["--tls-cert", str(file)] if form == "one file" else ["--tls-cert", str(certificate), "--tls-key", str(key)]
    trusting = ssl.create_default_context(cafile=str(authority.bundle))
    with listening(tmp_path, "--log", *given, environ={"LMS_SECRET": SECRET}) as listener:
        assert f"listening on https://127.0.0.1:{listener.port}/webhook" in listener.err
        with https(listener, trusting) as connection:
            body = event("over https")
            assert deliver(connection, body, signature(body)) == 200
            assert deliver(connection, body, "0" * 64) == 401
            assert connection.sock.version() in ("TLSv1.2", "TLSv1.3")
        until(lambda: "over https" in listener.out, "the event")
        refuses_plain_http(listener)
        with https(listener, trusting) as connection:
            assert deliver(connection, event("after"), signature(event("after"))) == 200
        triggers(listener, authority, tmp_path)
        with https(listener, ssl.create_default_context()) as connection, pytest.raises(ssl.SSLCertVerificationError):
            connection.connect()
        assert listener.stop() == 0
        assert "Traceback" not in listener.err


def refuses_plain_http(listener: Listener) -> None:
    body = event("in the clear")
    with contextlib.suppress(ConnectionResetError), listener.connect() as plain:
        plain.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        assert not plain.recv(4096).startswith(b"HTTP/")
    assert "in the clear" not in listener.out + listener.err


def triggers(listener: Listener, authority: Authority, folder: Path) -> None:
    given = ("trigger", "grade_change", "--to")
    there = f"https://localhost:{listener.port}/webhook"
    assert run(folder, *given, there, SSL_CERT_FILE=str(authority.bundle), LMS_SECRET=SECRET).returncode == 0
    for url, says in ((there, "is not trusted"), (there.replace("https", "http"), "serve https?")):
        done = run(folder, *given, url, LMS_SECRET=SECRET)
        assert done.returncode == 7, done.stderr
        assert says in done.stderr


SHORT = '[listener.webhook]\nheader_timeout = "1s"\nmax_connections = 10\n'


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_connections_that_never_begin_tls_count_and_end(authority: Authority, tmp_path: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(authority.bundle))
    given = ("--tls-cert", str(authority.certificate("localhost")))
    patient = SHORT.replace('"1s"', '"60s"')
    with listening(tmp_path, *given, definitions=patient) as listener:
        silent = [listener.connect() for _ in range(10 + 48)]
        for _ in range(20):  # the oldest of the silent ones gives its place
            assert _healthy(listener, trusting)
        with contextlib.suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""
        for each in silent:
            each.close()
    with listening(tmp_path, *given, definitions=SHORT) as listener:
        silent = [listener.connect() for _ in range(9)]
        for each in silent:
            with each, contextlib.suppress(ConnectionResetError):
                assert each.recv(1) == b""
        assert "not_tls" in listener.logged("not_tls")
        assert _healthy(listener, trusting)
        assert "Traceback" not in listener.err


def _healthy(listener: Listener, context: ssl.SSLContext) -> bool:
    with https(listener, context) as connection:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_new_certificate_is_read_on_sighup_and_a_broken_one_is_not(authority: Authority, tmp_path: Path) -> None:
    path = tmp_path / "chain.pem"
    path.write_bytes(authority.certificate("localhost").read_bytes())
    trusting = ssl.create_default_context(cafile=str(authority.bundle))

    def serial() -> object:
        with https(listener, trusting) as connection:
            connection.connect()
            certificate = connection.sock.getpeercert()
            return certificate and certificate["serialNumber"]

    with listening(tmp_path, "--tls-cert", str(path)) as listener, https(listener, trusting) as open_before:
        first = serial()
        open_before.connect()
        path.write_text("broken", encoding="ascii")
        listener.process.send_signal(signal.SIGHUP)
        assert "contains no certificate" in listener.logged("keeping the old one")
        assert serial() == first
        path.write_bytes(authority.certificate("localhost").read_bytes())
        listener.process.send_signal(signal.SIGHUP)
        listener.logged("certificate reloaded")
        assert serial() != first
        open_before.request("GET", "/health")
        assert open_before.getresponse().status == 200


def files(authority: Authority, folder: Path) -> None:
    apart(authority.certificate("localhost"), folder)
    other = ec.generate_private_key(ec.SECP256R1())
    plain = serialization.PrivateFormat.PKCS8
    locked = serialization.BestAvailableEncryption(b"a pass phrase")
    for name, encryption in (("other.pem", serialization.NoEncryption()), ("locked.pem", locked)):
        (folder / name).write_bytes(other.private_bytes(serialization.Encoding.PEM, plain, encryption))
    (folder / "text.pem").write_text("no certificate", encoding="ascii")
    (folder / "marked.pem").write_bytes(b"\xef\xbb\xbf" + (folder / "key.pem").read_bytes())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tls-key", "key.pem"], "--tls-key needs --tls-cert"),
        (["--tls-cert", "none.pem"], "--tls-cert: none.pem: No such file"),
        (["--tls-cert", "certificate.pem", "--tls-key", "none.pem"], "--tls-key: none.pem: No such file"),
        (["--tls-cert", "certificate.pem"], "certificate.pem contains no private key"),
        (["--tls-cert", "text.pem", "--tls-key", "key.pem"], "text.pem contains no certificate"),
        (["--tls-cert", "certificate.pem", "--tls-key", "text.pem"], "text.pem contains no private key"),
        (["--tls-cert", "certificate.pem", "--tls-key", "other.pem"], "other.pem is not the key of the certificate"),
        (["--tls-cert", "certificate.pem", "--tls-key", "locked.pem"], "locked.pem is encrypted"),
        (["--tls-cert", "certificate.pem", "--tls-key", "marked.pem"], "marked.pem begins with a byte-order mark"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    arguments: list[str], words: str, authority: Authority, tmp_path: Path
) -> None:
    files(authority, tmp_path)
    done = run(tmp_path, "listen", "--addr", ":0", *arguments)
    assert done.returncode == 2, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "listening" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_senders_that_go_away_put_no_line_of_a_library_into_the_log(authority: Authority, tmp_path: Path) -> None:
    certificate = authority.certificate("localhost")
    trusting = ssl.create_default_context(cafile=str(authority.bundle))
    unsigned = b"POST /webhook HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
    with listening(tmp_path, "--tls-cert", str(certificate), environ={"LMS_SECRET": SECRET}) as listener:
        for _ in range(10):
            with https(listener, trusting) as connection:
                connection.connect()
                connection.sock.settimeout(0.1)
                with contextlib.suppress(OSError):
                    connection.sock.sendall(unsigned * 5000)
        with https(listener, trusting) as connection:
            assert deliver(connection, event("last"), signature(event("last"))) == 200
        assert listener.stop() == 0
        lines = listener.err.splitlines()
        assert "signature_missing" in listener.err
        assert [line for line in lines if not line.startswith(("20", "note: "))] == []
