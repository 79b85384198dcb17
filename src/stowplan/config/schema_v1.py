"""The fields of kubescheduler.config.k8s.io/v1.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types.go, types_pluginargs.go, component-base/config/v1alpha1
(v1.36.4).
"""

from typing import Final

from stowplan.config.schema import (
    FLAG,
    INT32,
    INT64,
    TEXT,
    Anything,
    Binary,
    Duration,
    Fields,
    Many,
    Real,
    Shape,
    Text,
    TextMap,
)

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"

_TYPE_META: Final[dict[str, Shape]] = {"kind": TEXT, "apiVersion": TEXT}

_PLUGIN: Final = Fields("v1.Plugin", {"name": TEXT, "weight": INT32})
_PLUGIN_SET: Final = Fields("v1.PluginSet", {"enabled": Many(_PLUGIN), "disabled": Many(_PLUGIN)})
_PLUGINS: Final = Fields(
    "v1.Plugins",
    dict.fromkeys(
        (
            "preEnqueue",
            "queueSort",
            "preFilter",
            "filter",
            "postFilter",
            "preScore",
            "score",
            "reserve",
            "permit",
            "preBind",
            "bind",
            "postBind",
            "multiPoint",
            "placementGenerate",
            "placementScore",
        ),
        _PLUGIN_SET,
    ),
)
_PROFILE: Final = Fields(
    "v1.KubeSchedulerProfile",
    {
        "schedulerName": TEXT,
        "percentageOfNodesToScore": INT32,
        "plugins": _PLUGINS,
        "pluginConfig": Many(Fields("v1.PluginConfig", {"name": TEXT, "args": Anything()})),
    },
)
_EXTENDER: Final = Fields(
    "v1.Extender",
    {
        "urlPrefix": TEXT,
        "filterVerb": TEXT,
        "preemptVerb": TEXT,
        "prioritizeVerb": TEXT,
        "weight": INT64,
        "bindVerb": TEXT,
        "enableHTTPS": FLAG,
        "tlsConfig": Fields(
            "v1.ExtenderTLSConfig",
            {
                "insecure": FLAG,
                "serverName": TEXT,
                "certFile": TEXT,
                "keyFile": TEXT,
                "caFile": TEXT,
                "certData": Binary(),
                "keyData": Binary(),
                "caData": Binary(),
            },
        ),
        "httpTimeout": Duration(),
        "nodeCacheCapable": FLAG,
        "managedResources": Many(Fields("v1.ExtenderManagedResource", {"name": TEXT, "ignoredByScheduler": FLAG})),
        "ignorable": FLAG,
    },
)
CONFIGURATION: Final = Fields(
    "v1.KubeSchedulerConfiguration",
    {
        **_TYPE_META,
        "parallelism": INT32,
        "leaderElection": Fields(
            "v1alpha1.LeaderElectionConfiguration",
            {
                "leaderElect": FLAG,
                "leaseDuration": Duration(),
                "renewDeadline": Duration(),
                "retryPeriod": Duration(),
                "resourceLock": TEXT,
                "resourceName": TEXT,
                "resourceNamespace": TEXT,
            },
        ),
        "clientConnection": Fields(
            "v1alpha1.ClientConnectionConfiguration",
            {
                "kubeconfig": TEXT,
                "acceptContentTypes": TEXT,
                "contentType": TEXT,
                "qps": Real(),
                "burst": INT32,
            },
        ),
        "enableProfiling": FLAG,
        "enableContentionProfiling": FLAG,
        "percentageOfNodesToScore": INT32,
        "podInitialBackoffSeconds": INT64,
        "podMaxBackoffSeconds": INT64,
        "profiles": Many(_PROFILE),
        "extenders": Many(_EXTENDER),
        "delayCacheUntilActive": FLAG,
    },
)

_RESOURCES: Final = Many(Fields("v1.ResourceSpec", {"name": TEXT, "weight": INT64}))
_SHAPE: Final = Many(Fields("v1.UtilizationShapePoint", {"utilization": INT32, "score": INT32}))
_REQUIREMENTS: Final = Many(
    Fields(
        "v1.NodeSelectorRequirement",
        {"key": TEXT, "operator": Text("v1.NodeSelectorOperator"), "values": Many(TEXT)},
    )
)
_NODE_TERM: Final = Fields("v1.NodeSelectorTerm", {"matchExpressions": _REQUIREMENTS, "matchFields": _REQUIREMENTS})
_NODE_AFFINITY: Final = Fields(
    "v1.NodeAffinity",
    {
        "requiredDuringSchedulingIgnoredDuringExecution": Fields(
            "v1.NodeSelector", {"nodeSelectorTerms": Many(_NODE_TERM)}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": Many(
            Fields("v1.PreferredSchedulingTerm", {"weight": INT32, "preference": _NODE_TERM})
        ),
    },
)
_LABEL_SELECTOR: Final = Fields(
    "v1.LabelSelector",
    {
        "matchLabels": TextMap(),
        "matchExpressions": Many(
            Fields(
                "v1.LabelSelectorRequirement",
                {"key": TEXT, "operator": Text("v1.LabelSelectorOperator"), "values": Many(TEXT)},
            )
        ),
    },
)
_SPREAD: Final = Fields(
    "v1.TopologySpreadConstraint",
    {
        "maxSkew": INT32,
        "topologyKey": TEXT,
        "whenUnsatisfiable": Text("v1.UnsatisfiableConstraintAction"),
        "labelSelector": _LABEL_SELECTOR,
        "minDomains": INT32,
        "nodeAffinityPolicy": Text("v1.NodeInclusionPolicy"),
        "nodeTaintsPolicy": Text("v1.NodeInclusionPolicy"),
        "matchLabelKeys": Many(TEXT),
    },
)


def _args(plugin: str, fields: dict[str, Shape]) -> Fields:
    return Fields(f"v1.{plugin}Args", {**_TYPE_META, **fields})


PLUGIN_ARGS: Final = {
    "DefaultPreemption": _args(
        "DefaultPreemption", {"minCandidateNodesPercentage": INT32, "minCandidateNodesAbsolute": INT32}
    ),
    "DynamicResources": _args(
        "DynamicResources", {"filterTimeout": Duration(nullable=True), "bindingTimeout": Duration(nullable=True)}
    ),
    "InterPodAffinity": _args(
        "InterPodAffinity", {"hardPodAffinityWeight": INT32, "ignorePreferredTermsOfExistingPods": FLAG}
    ),
    "NodeAffinity": _args("NodeAffinity", {"addedAffinity": _NODE_AFFINITY}),
    "NodeResourcesBalancedAllocation": _args("NodeResourcesBalancedAllocation", {"resources": _RESOURCES}),
    "NodeResourcesFit": _args(
        "NodeResourcesFit",
        {
            "ignoredResources": Many(TEXT),
            "ignoredResourceGroups": Many(TEXT),
            "scoringStrategy": Fields(
                "v1.ScoringStrategy",
                {
                    "type": Text("v1.ScoringStrategyType"),
                    "resources": _RESOURCES,
                    "requestedToCapacityRatio": Fields("v1.RequestedToCapacityRatioParam", {"shape": _SHAPE}),
                },
            ),
        },
    ),
    "PodTopologySpread": _args(
        "PodTopologySpread",
        {
            "defaultConstraints": Many(_SPREAD),
            "defaultingType": Text("v1.PodTopologySpreadConstraintsDefaulting"),
        },
    ),
    "VolumeBinding": _args("VolumeBinding", {"bindTimeoutSeconds": INT64, "shape": _SHAPE}),
}
