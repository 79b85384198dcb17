"""The file that kubectl reads to find this server."""

import base64
import json
from pathlib import Path

from stowplan.apiserver.certs import write_private

CONTEXT = "stowplan"


def write_kubeconfig(path: Path, *, url: str, authority_pem: bytes, token: str) -> None:
    """Write cluster, user and context, readable by the owner only. JSON is YAML."""
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
