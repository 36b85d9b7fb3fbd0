"""Finished pictures are signed (C2PA) if the installation has a certificate; a missing extra is named."""

import io
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.photo.configuration import PhotoSettings
from fanfold.apps.photo.marking.provenance import SOURCE_TYPE, Label, xmp
from fanfold.apps.photo.marking.signing import MEDIA_TYPES, signed
from fanfold.apps.photo.marking.writing import encoded, label_of

PLAIN = Image.new("RGB", (64, 48), "red")


def chain(folder: Path) -> PhotoSettings:
    """A certificate for signing, issued by another one, in the folder."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def issued(name: str, key: ec.EllipticCurvePrivateKey, by: ec.EllipticCurvePrivateKey, *, issues: bool) -> bytes:
        def called(text: str) -> Any:
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

        usage = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
            False,
        )  # fmt: skip
        made = (
            x509.CertificateBuilder(called("root"), called(name), key.public_key(), 2 if issues else 3)
            .not_valid_before(datetime.now(UTC) - timedelta(days=1))
            .not_valid_after(datetime.now(UTC) + timedelta(days=1))
            .add_extension(x509.BasicConstraints(issues, None), critical=True)
            .add_extension(
                x509.KeyUsage(digital_signature=True, key_cert_sign=issues, crl_sign=issues, **usage), critical=True
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(by.public_key()), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )
        if not issues:
            made = made.add_extension(
                x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=False
            )
        return bytes(made.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    root, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    (folder / "chain.pem").write_bytes(
        issued("signer", own, root, issues=False) + issued("root", root, root, issues=True)
    )
    (folder / "key.pem").write_bytes(
        own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return PhotoSettings(c2pa_certificate=str(folder / "chain.pem"), c2pa_key=str(folder / "key.pem"))


@pytest.mark.parametrize("kind", MEDIA_TYPES)
def test_a_signed_picture_says_how_it_was_made_and_keeps_its_labels(tmp_path: Path, kind: str) -> None:
    c2pa = pytest.importorskip("c2pa", reason="the extra c2pa is not installed")
    label = Label("t-1-01")
    content = signed(encoded(PLAIN, kind, xmp(label)), kind, label, chain(tmp_path))
    with c2pa.Reader(MEDIA_TYPES[kind], io.BytesIO(content)) as reader:
        told = json.loads(reader.json())
    assert told["validation_state"] == "Valid"
    assert SOURCE_TYPE in json.dumps(told["manifests"])
    assert label_of(content)[0] == SOURCE_TYPE


def test_without_a_certificate_nothing_is_signed_and_without_the_extra_a_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert signed(b"picture", "png", Label("x"), PhotoSettings()) == b"picture"
    monkeypatch.setitem(sys.modules, "c2pa", None)
    with pytest.raises(ff.Permanent, match="needs the extra c2pa"):
        signed(b"picture", "png", Label("x"), PhotoSettings(c2pa_certificate="chain.pem"))


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    pytest.importorskip("c2pa", reason="the extra c2pa is not installed")
    with pytest.raises(ff.Permanent, match=r"none\.pem"):
        signed(b"picture", "png", Label("x"), PhotoSettings(c2pa_certificate=str(tmp_path / "none.pem")))
    (tmp_path / "bad.pem").write_text("no certificate")
    bad = PhotoSettings(c2pa_certificate=str(tmp_path / "bad.pem"), c2pa_key=str(tmp_path / "bad.pem"))
    with pytest.raises(ff.Permanent, match="cannot be signed"):
        signed(encoded(PLAIN, "png", xmp(Label("x"))), "png", Label("x"), bad)
