"""Defaults of pods and of pod templates.

Upstream: pkg/apis/core/v1/defaults.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.quantities import amount, thousandths, total

Json = dict[str, Any]

PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
FILE_MODE = 0o644
TOKEN_SECONDS = 3600
OVERCOMMITTED = ("cpu", "memory")


def default_pod(pod: Json) -> None:
    """Fill in a pod."""
    spec = pod.setdefault("spec", {})
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            _requests_from_limits(container.get("resources"))
    _default_pod_level(spec)
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            for port in container.get("ports", ()):
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def default_pod_spec(spec: Json) -> None:
    """Fill in the specification of a pod, of a template too."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(name, ()):
            _default_container(container)


def _default_container(container: Json) -> None:
    image = container.get("image", "")
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = "Always" if _is_latest(image) else "IfNotPresent"
    _round_resources(container.setdefault("resources", {}))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        source = variable.get("valueFrom")
        if source:
            if "fieldRef" in source:
                source["fieldRef"].setdefault("apiVersion", "v1")
            if "resourceFieldRef" in source:
                source["resourceFieldRef"].setdefault("divisor", "0")
            if "fileKeyRef" in source:
                source["fileKeyRef"].setdefault("optional", False)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            _default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_http(hook.get("httpGet"))


def _round_resources(resources: Json) -> None:
    """Nothing is counted finer than in thousandths."""
    for name in ("requests", "limits"):
        amounts: Json = resources.get(name) or {}
        for resource, text in amounts.items():
            # perf: only these two units are finer
            if text[-1] in "un":
                amounts[resource] = thousandths(text)


def _default_probe(probe: Json) -> None:
    for name, value in PROBE.items():
        if not probe.get(name):
            probe[name] = value
    _default_http(probe.get("httpGet"))
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_http(action: Json | None) -> None:
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _is_latest(image: str) -> bool:
    """True when the image names no tag and no digest, or the tag `latest`."""
    if "@" in image:
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest")


def _requests_from_limits(resources: Json | None) -> None:
    if not resources or not resources.get("limits"):
        return
    requests = resources.setdefault("requests", {})
    for name, bound in resources["limits"].items():
        requests.setdefault(name, bound)


def _default_pod_level(spec: Json) -> None:
    """Requests of the whole pod: what its containers ask for together, else its own limits."""
    resources = spec.get("resources")
    if not resources or not resources.get("limits"):
        return
    requests = resources.setdefault("requests", {})
    for name in OVERCOMMITTED:
        asked = _asked_together(spec, name)
        if asked is not None:
            requests.setdefault(name, asked)
    for name, bound in resources["limits"].items():
        if name in OVERCOMMITTED or name.startswith("hugepages-"):
            requests.setdefault(name, bound)


def _asked_together(spec: Json, name: str) -> str | None:
    """What the containers need of a resource: all that run together, or the neediest that prepares."""

    def asked(container: Json) -> str | None:
        found: str | None = ((container.get("resources") or {}).get("requests") or {}).get(name)
        return found

    sidecars: list[str] = []
    peaks: list[str] = []
    for container in spec.get("initContainers") or ():
        text = asked(container)
        if text is None:
            continue
        if container.get("restartPolicy") == "Always":
            sidecars.append(text)
            peaks.append(total(sidecars))
        else:
            peaks.append(total([*sidecars, text]))
    running = [text for text in map(asked, spec.get("containers") or ()) if text is not None] + sidecars
    if running:
        peaks.append(total(running))
    return max(peaks, key=amount) if peaks else None


def _default_volume(volume: Json) -> None:
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}
    for name in ("configMap", "secret", "downwardAPI", "projected"):
        source = volume.get(name)
        if source is not None:
            source.setdefault("defaultMode", FILE_MODE)
            for item in _downward_items(name, source):
                if "fieldRef" in item:
                    item["fieldRef"].setdefault("apiVersion", "v1")
                if "resourceFieldRef" in item:
                    item["resourceFieldRef"].setdefault("divisor", "0")
    if "projected" in volume:
        for source in volume["projected"].get("sources", ()):
            if "serviceAccountToken" in source:
                source["serviceAccountToken"].setdefault("expirationSeconds", TOKEN_SECONDS)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "iscsi" in volume:
        volume["iscsi"].setdefault("iscsiInterface", "default")
    if "rbd" in volume:
        for name, value in (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")):
            volume["rbd"].setdefault(name, value)
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _downward_items(name: str, source: Json) -> list[Json]:
    if name == "downwardAPI":
        return list(source.get("items", ()))
    if name == "projected":
        return [item for part in source.get("sources", ()) for item in (part.get("downwardAPI") or {}).get("items", ())]
    return []
