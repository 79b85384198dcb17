"""Short names, categories and subresources of the built-in kinds, as the API documents them."""

from collections.abc import Mapping

SHORT_NAMES: Mapping[str, tuple[str, ...]] = {
    "componentstatuses": ("cs",),
    "configmaps": ("cm",),
    "endpoints": ("ep",),
    "events": ("ev",),
    "limitranges": ("limits",),
    "namespaces": ("ns",),
    "nodes": ("no",),
    "persistentvolumeclaims": ("pvc",),
    "persistentvolumes": ("pv",),
    "pods": ("po",),
    "replicationcontrollers": ("rc",),
    "resourcequotas": ("quota",),
    "serviceaccounts": ("sa",),
    "services": ("svc",),
    "daemonsets": ("ds",),
    "deployments": ("deploy",),
    "replicasets": ("rs",),
    "statefulsets": ("sts",),
    "cronjobs": ("cj",),
    "horizontalpodautoscalers": ("hpa",),
    "certificatesigningrequests": ("csr",),
    "customresourcedefinitions": ("crd", "crds"),
    "ingresses": ("ing",),
    "ipaddresses": ("ip",),
    "networkpolicies": ("netpol",),
    "poddisruptionbudgets": ("pdb",),
    "priorityclasses": ("pc",),
    "storageclasses": ("sc",),
    "volumeattributesclasses": ("vac",),
}

CATEGORY_ALL = frozenset(
    {
        "pods", "replicationcontrollers", "services", "daemonsets", "deployments", "replicasets", "statefulsets",
        "jobs", "cronjobs", "horizontalpodautoscalers",
    }
)  # fmt: skip

CATEGORY_EXTENSIONS = frozenset(
    {
        "customresourcedefinitions", "validatingadmissionpolicies", "mutatingadmissionpolicies",
        "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicybindings",
        "mutatingadmissionpolicybindings",
    }
)  # fmt: skip

SERVED_VERSIONS = frozenset({"v1", "v2"})
"""Stable versions, as the real server serves when it is told nothing."""

NOT_YET = frozenset(
    {
        ("certificates.k8s.io", "clustertrustbundles"), ("certificates.k8s.io", "podcertificaterequests"),
        ("resource.k8s.io", "devicetaintrules"), ("storagemigration.k8s.io", "storageversionmigrations"),
    }
)  # fmt: skip
"""Kinds of the model library that are newer than the version we speak for."""

NOT_YET_SUBRESOURCES = frozenset({"csinodes/status"})

REFUSED_SUBRESOURCES: Mapping[str, tuple[str, ...]] = {
    "pods": ("attach", "exec", "portforward", "proxy"),
    "services": ("proxy",),
    "nodes": ("proxy",),
}
"""Streams into containers: there are no containers here."""
