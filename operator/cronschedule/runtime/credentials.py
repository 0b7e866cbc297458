"""Where the API server is and who we are to it, from a kubeconfig or from the pod we run in.

Read once at start. What rotates while we run is the token, so a `token_path` is kept as a path, which
`kube_http.py` reads again and again; certificates and the CA are taken as they are.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_UNSUPPORTED = ("exec", "auth-provider", "as", "proxy-url", "tls-server-name")
"""kubeconfig keys that change how to log in or to connect; ignoring one would end in a riddle."""


class CredentialsError(Exception):
    """The kubeconfig or the service account cannot be used; the message says what to do about it."""


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """One API server and one identity. `*_data` is PEM text; of data and path at most one is set.

    The names, `token_path` and `source` apart, are those of `kopf.ConnectionInfo`.
    """

    source: str
    server: str
    default_namespace: str | None = None
    insecure: bool = False
    ca_path: str | None = None
    ca_data: str | None = None
    certificate_path: str | None = None
    certificate_data: str | None = None
    private_key_path: str | None = None
    private_key_data: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    token_path: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)

    def read_token(self) -> str | None:
        """The bearer token as of now. Raises OSError when its file cannot be read."""
        if self.token_path is None:
            return self.token
        return Path(self.token_path).read_text().strip()

    def ssl_context(self) -> ssl.SSLContext:
        """TLS as the credentials ask for. Raises `CredentialsError`."""
        try:
            context = ssl.create_default_context(cafile=self.ca_path, cadata=self.ca_data)
            with tempfile.TemporaryDirectory(prefix="cronschedule-") as folder:
                certificate = self.certificate_path or _spill(folder, "tls.crt", self.certificate_data)
                key = self.private_key_path or _spill(folder, "tls.key", self.private_key_data)
                if certificate and key:
                    context.load_cert_chain(certificate, key)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise CredentialsError(f"{self.source}: unusable certificate or key: {error}") from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _spill(folder: str, name: str, data: str | None) -> str | None:
    # The ssl module reads keys from files only. The folder is private and gone at once.
    if data is None:
        return None
    path = Path(folder, name)
    path.write_text(data)
    return str(path)


def load_credentials(
    kubeconfig: str | None = None,
    *,
    context: str | None = None,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> Credentials:
    """The first of: `kubeconfig`, $KUBECONFIG, the pod's service account, ~/.kube/config.

    `context` picks a context of the kubeconfig other than its current one. Raises `CredentialsError`.
    """
    named = kubeconfig or environ.get("KUBECONFIG")
    if named:
        return _from_kubeconfig(Path(named), context)
    if environ.get("KUBERNETES_SERVICE_HOST"):
        return _from_pod(environ, service_account)
    return _from_kubeconfig(Path(environ.get("HOME", "/"), ".kube", "config"), context)


def _from_pod(environ: Mapping[str, str], folder: Path) -> Credentials:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    if ":" in host:
        host = f"[{host}]"
    try:
        namespace = (folder / "namespace").read_text().strip()
    except OSError as error:
        raise CredentialsError(
            f"{folder}: no service account is mounted into this pod ({error.strerror})"
        ) from error
    return Credentials(
        source=str(folder),
        server=f"https://{host}:{port}",
        ca_path=str(folder / "ca.crt"),
        token_path=str(folder / "token"),
        default_namespace=namespace,
    )


def _from_kubeconfig(path: Path, context_name: str | None) -> Credentials:
    try:
        config = yaml.safe_load(path.read_text())
    except OSError as error:
        hint = "; $KUBECONFIG must name one file" if os.pathsep in str(path) else ""
        raise CredentialsError(f"{path}: {error.strerror}{hint}") from error
    except yaml.YAMLError as error:
        raise CredentialsError(f"{path}: not YAML") from error
    if not isinstance(config, dict):
        raise CredentialsError(f"{path}: not a kubeconfig")
    name = context_name or config.get("current-context")
    context = _named(config, "contexts", "context", name, path)
    cluster = _named(config, "clusters", "cluster", context.get("cluster"), path)
    user = _named(config, "users", "user", context.get("user"), path) if context.get("user") else {}
    for key in _UNSUPPORTED:
        if user.get(key) or cluster.get(key):
            raise CredentialsError(
                f"{path}: context {name!r} uses `{key}`, which is not supported here; "
                "use a token, a token file, a client certificate or a user name and password"
            )
    read = _Reader(path)
    token_path = read.path(user, "tokenFile")
    return Credentials(
        source=str(path),
        server=str(cluster.get("server") or "http://localhost:8080").rstrip("/"),
        default_namespace=context.get("namespace"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        ca_data=read.pem(cluster, "certificate-authority-data"),
        ca_path=read.path(cluster, "certificate-authority"),
        certificate_data=read.pem(user, "client-certificate-data"),
        certificate_path=read.path(user, "client-certificate"),
        private_key_data=read.pem(user, "client-key-data"),
        private_key_path=read.path(user, "client-key"),
        token=None if token_path else user.get("token"),
        token_path=token_path,
        username=user.get("username"),
        password=user.get("password"),
    )


def _named(config: Mapping[str, Any], many: str, one: str, name: Any, path: Path) -> dict[str, Any]:
    for entry in config.get(many) or []:
        if entry.get("name") == name:
            return entry.get(one) or {}
    raise CredentialsError(f"{path}: no {one} named {name!r}")


@dataclass(frozen=True)
class _Reader:
    """Reads the values of one kubeconfig; its relative paths count from its own folder."""

    file: Path

    def path(self, section: Mapping[str, Any], key: str) -> str | None:
        if not section.get(key) or section.get(f"{key}-data"):
            return None  # data wins over a path, as in kubectl
        return str(self.file.parent / section[key])

    def pem(self, section: Mapping[str, Any], key: str) -> str | None:
        if not section.get(key):
            return None
        try:
            return base64.b64decode(section[key], validate=True).decode("ascii")
        except (binascii.Error, ValueError) as error:
            raise CredentialsError(f"{self.file}: {key} is not base64 of PEM text") from error
