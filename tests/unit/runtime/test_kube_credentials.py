"""Where the API server is and who we are to it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import kopf
import pytest
import yaml

from cronschedule.runtime.credentials import Credentials, CredentialsError, load_credentials

PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
BASE64 = base64.b64encode(PEM.encode()).decode()


def kubeconfig(
    folder: Path, *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> str:
    told = {
        "current-context": "here",
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "there", "context": {"cluster": "other", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://10.0.0.1:6443/", **(cluster or {})}},
            {"name": "other", "cluster": {"server": "https://10.0.0.2:6443"}},
        ],
        "users": [{"name": "u", "user": user or {}}],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump(told))
    return str(path)


def test_is_the_current_context_used(tmp_path: Path) -> None:
    found = load_credentials(kubeconfig(tmp_path, user={"token": "s3cret"}))
    assert (found.server, found.default_namespace) == ("https://10.0.0.1:6443", "team")
    assert found.read_token() == "s3cret"


def test_can_another_context_be_picked(tmp_path: Path) -> None:
    assert load_credentials(kubeconfig(tmp_path), context="there").server == "https://10.0.0.2:6443"


def test_is_the_kubeconfig_of_the_environment_found(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path)
    found = load_credentials(environ={"KUBECONFIG": path, "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    assert found.source == path


def test_is_the_kubeconfig_at_home_the_last_resort(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    path = kubeconfig(tmp_path / ".kube")
    assert load_credentials(environ={"HOME": str(tmp_path)}).source == path


def test_are_paths_counted_from_the_kubeconfig(tmp_path: Path) -> None:
    found = load_credentials(
        kubeconfig(
            tmp_path,
            cluster={"certificate-authority": "ca.crt"},
            user={"client-certificate": "pki/me.crt", "client-key": "/abs/me.key", "tokenFile": "token"},
        )
    )
    assert found.ca_path == str(tmp_path / "ca.crt")
    assert found.certificate_path == str(tmp_path / "pki/me.crt")
    assert found.private_key_path == "/abs/me.key"
    assert found.token_path == str(tmp_path / "token")


def test_do_data_win_over_paths(tmp_path: Path) -> None:
    found = load_credentials(
        kubeconfig(
            tmp_path,
            cluster={"certificate-authority": "ca.crt", "certificate-authority-data": BASE64},
            user={"client-certificate-data": BASE64, "client-key-data": BASE64},
        )
    )
    assert (found.ca_data, found.ca_path) == (PEM, None)
    assert (found.certificate_data, found.private_key_data) == (PEM, PEM)


def test_is_a_token_file_read_anew_each_time(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one\n")
    found = load_credentials(kubeconfig(tmp_path, user={"tokenFile": "token", "token": "ignored"}))
    assert found.read_token() == "one"
    (tmp_path / "token").write_text("two\n")
    assert found.read_token() == "two"


@pytest.mark.parametrize(
    ("host", "server"),
    [("10.96.0.1", "https://10.96.0.1:443"), ("fd00::1", "https://[fd00::1]:443")],
    ids=["IPv4", "IPv6"],
)
def test_is_the_service_account_of_a_pod_found(tmp_path: Path, host: str, server: str) -> None:
    for name, text in {"token": "t", "ca.crt": PEM, "namespace": "operators\n"}.items():
        (tmp_path / name).write_text(text)
    environ = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    found = load_credentials(environ=environ, service_account=tmp_path)
    assert (found.server, found.default_namespace, found.read_token()) == (server, "operators", "t")


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("user", "exec", {"command": "aws"}),
        ("user", "auth-provider", {"name": "gcp"}),
        ("user", "as", "root"),
        ("cluster", "proxy-url", "http://proxy"),
        ("cluster", "tls-server-name", "kubernetes"),
    ],
)
def test_is_what_cannot_be_done_refused_by_name(tmp_path: Path, section: str, key: str, value: Any) -> None:
    path = kubeconfig(tmp_path, **{section: {key: value}})
    with pytest.raises(CredentialsError, match=f"`{key}`, which is not supported"):
        load_credentials(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not YAML"),
        ("[]", "not a kubeconfig"),
        ("{}", "no context named None"),
        ("{current-context: a, contexts: [{name: a, context: {cluster: b}}]}", "no cluster named 'b'"),
    ],
)
def test_is_a_broken_kubeconfig_told(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(CredentialsError, match=says):
        load_credentials(str(tmp_path / "config"))


def test_is_a_missing_kubeconfig_told(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"gone: No such file"):
        load_credentials(str(tmp_path / "gone"))


def test_are_several_kubeconfigs_in_the_environment_told(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="must name one file"):
        load_credentials(environ={"KUBECONFIG": f"{tmp_path}/a:{tmp_path}/b"})


def test_is_a_pod_without_a_service_account_told(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="no service account is mounted"):
        load_credentials(environ={"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, service_account=tmp_path)


def test_is_data_that_is_no_pem_told(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="client-key-data is not base64"):
        load_credentials(kubeconfig(tmp_path, user={"client-key-data": "%%%"}))


def test_is_a_broken_certificate_told(tmp_path: Path) -> None:
    found = load_credentials(
        kubeconfig(tmp_path, user={"client-certificate-data": BASE64, "client-key-data": BASE64})
    )
    with pytest.raises(CredentialsError, match="unusable certificate or key"):
        found.ssl_context()


def test_are_secrets_kept_out_of_logs() -> None:
    found = Credentials(source="x", server="y", token="s3cret", password="s3cret", private_key_data="s3cret")
    assert "s3cret" not in repr(found)


def test_does_kopf_take_the_same_fields(tmp_path: Path) -> None:
    found = load_credentials(kubeconfig(tmp_path, user={"token": "s3cret"}))
    fields = {name: value for name, value in vars(found).items() if name not in ("source", "token_path")}
    assert kopf.ConnectionInfo(**fields).as_http_headers() == {"Authorization": "Bearer s3cret"}
