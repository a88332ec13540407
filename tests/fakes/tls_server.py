"""A server behind TLS with a certificate that nobody knows, as a company's proxy or a server of one's own shows it."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
A_CENTURY = timedelta(days=36_500)


_USAGE = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def self_signed(folder: Path, *names: str, since: datetime = SINCE, lasting: timedelta = A_CENTURY) -> Path:
    """Create a key and a certificate for these names, in one file. It is an authority for clients."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    public = key.public_key()
    alternatives = [
        x509.IPAddress(IPv4Address(name)) if name.replace(".", "").isdecimal() else x509.DNSName(name) for name in names
    ]
    cert = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(public)
        .serial_number(1)
        .not_valid_before(since)
        .not_valid_after(since + lasting)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        # Python 3.13 and later want what RFC 5280 asks of an authority.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(_USAGE, critical=True)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "cert.pem"
    file.write_bytes(key.private_bytes(*form) + cert.public_bytes(serialization.Encoding.PEM))
    return file


@asynccontextmanager
async def tls_server(certificate: Path, reply: bytes = b"") -> AsyncGenerator[str]:
    """Yield the address (`127.0.0.1:PORT`) of a server that answers each request with these bytes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        writer.write(reply)
        await writer.drain()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
