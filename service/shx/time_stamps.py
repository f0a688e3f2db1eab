"""Tokens of a time-stamp authority (RFC 3161), read against its certificates."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from typing import Any

from cryptography.x509 import Certificate, load_pem_x509_certificates


class StampRefused(Exception):
    """There is no token that holds: none came, it is over something else, or badly signed."""


def read_token(
    answer: bytes, text: str, roots: Sequence[Certificate], nonce: int | None = None
) -> datetime:
    """
    Return the time in an authority's answer (a TimeStampResp) for a text, after all checks.

    Raises StampRefused with the reason.
    """
    client = client_library()
    try:
        token = client.decode_timestamp_response(answer)
        builder = client.VerifierBuilder(roots=list(roots), nonce=nonce)
        builder.build().verify_message(token, text.encode())
        time: datetime = token.tst_info.gen_time
    except (ValueError, client.VerificationError) as error:
        raise StampRefused(f"no valid token: {error}") from None
    return time


def read_certificates(content: bytes) -> tuple[Certificate, ...]:
    """Return the certificates in a PEM text; raises ValueError."""
    return tuple(load_pem_x509_certificates(content))


def client_library() -> Any:
    """Return the library for tokens; raises StampRefused where its extra is not installed."""
    try:
        return import_module("rfc3161_client")
    except ImportError:
        raise StampRefused('needs: pip install "shithead[stamps]"') from None
