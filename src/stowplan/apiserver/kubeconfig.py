"""The file that kubectl reads to find this server."""

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from stowplan.apiserver.certs import write_private
from stowplan.apiserver.options import StartError

CONTEXT = "stowplan"


def write_kubeconfig(path: Path, *, url: str, authority_pem: bytes, token: str) -> None:
    """Write cluster, user and context, readable by the owner only. JSON is YAML. Raises StartError."""
    refuse_foreign(path)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CONTEXT,
                "cluster": {
                    "server": url,
                    "certificate-authority-data": base64.b64encode(authority_pem).decode(),
                },
            }
        ],
        "users": [{"name": CONTEXT, "user": {"token": token}}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}],
        "current-context": CONTEXT,
    }
    write_private(path, json.dumps(config, indent=2).encode() + b"\n")


def refuse_foreign(path: Path) -> None:
    """Refuse to write over a kubeconfig that knows other clusters. Raises StartError."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise StartError(f"kubeconfig {path}: {error.strerror}") from error
    content: Any = None
    with suppress(yaml.YAMLError):
        content = yaml.load(text, yaml.CSafeLoader)
    clusters = content.get("clusters") if isinstance(content, dict) else None
    names = [entry.get("name") for entry in clusters or () if isinstance(entry, dict)]
    if text.strip() and (content is None or names != [CONTEXT]):
        raise StartError(f"kubeconfig {path}: the file is there already and is not one of stowplan's; name another")
