"""The numbers of the core types' fields on the wire; numbers.py says how to read them."""

from collections.abc import Mapping

CONTAINER = (
    "name image command args workingDir ports env resources volumeMounts livenessProbe readinessProbe lifecycle "
    "terminationMessagePath imagePullPolicy securityContext stdin stdinOnce tty envFrom terminationMessagePolicy "
    "volumeDevices startupProbe resizePolicy restartPolicy restartPolicyRules"
)
SPEC_STATUS = "metadata spec status"
SECRET_REF = "@LocalObjectReference key optional"  # noqa: S105 (names of fields)

POD_SOURCES: Mapping[str, str] = {
    "Volume": "name @VolumeSource",
    "VolumeSource": "hostPath emptyDir gcePersistentDisk awsElasticBlockStore gitRepo secret nfs iscsi glusterfs "
    "persistentVolumeClaim rbd flexVolume cinder cephfs flocker downwardAPI fc azureFile configMap vsphereVolume "
    "quobyte azureDisk photonPersistentDisk portworxVolume scaleIO projected storageos csi ephemeral image",
    "HostPathVolumeSource": "path type",
    "EmptyDirVolumeSource": "medium sizeLimit",
    "SecretVolumeSource": "secretName items defaultMode optional",
    "ConfigMapVolumeSource": "@LocalObjectReference items defaultMode optional",
    "KeyToPath": "key path mode",
    "NFSVolumeSource": "server path readOnly",
    "PersistentVolumeClaimVolumeSource": "claimName readOnly",
    "DownwardAPIVolumeSource": "items defaultMode",
    "DownwardAPIVolumeFile": "path fieldRef resourceFieldRef mode",
    "ProjectedVolumeSource": "sources defaultMode",
    "VolumeProjection": "secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate",
    "SecretProjection": "@LocalObjectReference items - optional",
    "ConfigMapProjection": "@LocalObjectReference items - optional",
    "DownwardAPIProjection": "items",
    "ServiceAccountTokenProjection": "audience expirationSeconds path",
    "CSIVolumeSource": "driver readOnly fsType volumeAttributes nodePublishSecretRef",
    "EphemeralVolumeSource": "volumeClaimTemplate",
    "PersistentVolumeClaimTemplate": "metadata spec",
    "ImageVolumeSource": "reference pullPolicy",
    "AWSElasticBlockStoreVolumeSource": "volumeID fsType partition readOnly",
    "GCEPersistentDiskVolumeSource": "pdName fsType partition readOnly",
    "AzureDiskVolumeSource": "diskName diskURI cachingMode fsType readOnly kind",
    "ISCSIVolumeSource": "targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery - secretRef "
    "chapAuthSession initiatorName",
    "RBDVolumeSource": "monitors image fsType pool user keyring secretRef readOnly",
    "CinderVolumeSource": "volumeID fsType readOnly secretRef",
    "FCVolumeSource": "targetWWNs lun fsType readOnly wwids",
}

POD: Mapping[str, str] = {
    "Pod": SPEC_STATUS,
    "PodTemplate": "metadata template",
    "PodTemplateSpec": "metadata spec",
    "PodSpec": "volumes containers restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy "
    "nodeSelector serviceAccountName serviceAccount nodeName hostNetwork hostPID hostIPC securityContext "
    "imagePullSecrets hostname subdomain affinity schedulerName initContainers automountServiceAccountToken "
    "tolerations hostAliases priorityClassName priority dnsConfig shareProcessNamespace readinessGates "
    "runtimeClassName enableServiceLinks preemptionPolicy overhead topologySpreadConstraints ephemeralContainers "
    "setHostnameAsFQDN os hostUsers schedulingGates resourceClaims resources hostnameOverride - schedulingGroup",
    "Container": CONTAINER,
    "EphemeralContainer": "@Container targetContainerName",
    "ContainerPort": "name hostPort containerPort protocol hostIP",
    "ContainerResizePolicy": "resourceName restartPolicy",
    "EnvFromSource": "prefix configMapRef secretRef",
    "ConfigMapEnvSource": "@LocalObjectReference optional",
    "SecretEnvSource": "@LocalObjectReference optional",
    "EnvVar": "name value valueFrom",
    "EnvVarSource": "fieldRef resourceFieldRef configMapKeyRef secretKeyRef fileKeyRef",
    "ObjectFieldSelector": "apiVersion fieldPath",
    "ResourceFieldSelector": "containerName resource divisor",
    "ConfigMapKeySelector": SECRET_REF,
    "SecretKeySelector": SECRET_REF,
    "FileKeySelector": "volumeName path key optional",
    "LocalObjectReference": "name",
    "ResourceRequirements": "limits requests claims",
    "ResourceClaim": "name request",
    "VolumeMount": "name readOnly mountPath subPath mountPropagation subPathExpr recursiveReadOnly",
    "VolumeDevice": "name devicePath",
    "Probe": "@ProbeHandler initialDelaySeconds timeoutSeconds periodSeconds successThreshold failureThreshold "
    "terminationGracePeriodSeconds",
    "ProbeHandler": "exec httpGet tcpSocket grpc",
    "Lifecycle": "postStart preStop stopSignal",
    "LifecycleHandler": "exec httpGet tcpSocket sleep",
    "ExecAction": "command",
    "HTTPGetAction": "path port host scheme httpHeaders",
    "HTTPHeader": "name value",
    "TCPSocketAction": "port host",
    "GRPCAction": "port service",
    "SleepAction": "seconds",
    "SecurityContext": "capabilities privileged seLinuxOptions runAsUser runAsNonRoot readOnlyRootFilesystem "
    "allowPrivilegeEscalation runAsGroup procMount windowsOptions seccompProfile appArmorProfile",
    "PodSecurityContext": "seLinuxOptions runAsUser runAsNonRoot supplementalGroups fsGroup runAsGroup sysctls "
    "windowsOptions fsGroupChangePolicy seccompProfile appArmorProfile supplementalGroupsPolicy seLinuxChangePolicy",
    "Capabilities": "add drop",
    "SELinuxOptions": "user role type level",
    "SeccompProfile": "type localhostProfile",
    "AppArmorProfile": "type localhostProfile",
    "Sysctl": "name value",
    "Affinity": "nodeAffinity podAffinity podAntiAffinity",
    "NodeAffinity": "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution",
    "PodAffinity": "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution",
    "PodAntiAffinity": "requiredDuringSchedulingIgnoredDuringExecution preferredDuringSchedulingIgnoredDuringExecution",
    "NodeSelector": "nodeSelectorTerms",
    "NodeSelectorTerm": "matchExpressions matchFields",
    "NodeSelectorRequirement": "key operator values",
    "PreferredSchedulingTerm": "weight preference",
    "PodAffinityTerm": "labelSelector namespaces topologyKey namespaceSelector matchLabelKeys mismatchLabelKeys",
    "WeightedPodAffinityTerm": "weight podAffinityTerm",
    "TopologySpreadConstraint": "maxSkew topologyKey whenUnsatisfiable labelSelector minDomains nodeAffinityPolicy "
    "nodeTaintsPolicy matchLabelKeys",
    "Toleration": "key operator value effect tolerationSeconds",
    "HostAlias": "ip hostnames",
    "PodDNSConfig": "nameservers searches options",
    "PodDNSConfigOption": "name value",
    "PodReadinessGate": "conditionType",
    "PodOS": "name",
    "PodSchedulingGate": "name",
    "PodSchedulingGroup": "podGroupName",
    "PodResourceClaim": "name - resourceClaimName resourceClaimTemplateName",
    "PodStatus": "phase conditions message reason hostIP podIP startTime containerStatuses qosClass "
    "initContainerStatuses nominatedNodeName podIPs ephemeralContainerStatuses resize resourceClaimStatuses hostIPs "
    "observedGeneration extendedResourceClaimStatus allocatedResources resources",
    "PodCondition": "type status lastProbeTime lastTransitionTime reason message observedGeneration",
    "PodIP": "ip",
    "HostIP": "ip",
    "PodResourceClaimStatus": "name resourceClaimName",
    "ContainerStatus": "name state lastState ready restartCount image imageID containerID started "
    "allocatedResources resources volumeMounts user allocatedResourcesStatus stopSignal",
    "ContainerState": "waiting running terminated",
    "ContainerStateWaiting": "reason message",
    "ContainerStateRunning": "startedAt",
    "ContainerStateTerminated": "exitCode signal reason message startedAt finishedAt containerID",
}

CORE: Mapping[str, str] = {
    "Binding": "metadata target",
    "ObjectReference": "kind namespace name uid apiVersion resourceVersion fieldPath",
    "ConfigMap": "metadata data binaryData immutable",
    "Secret": "metadata data type stringData immutable",
    "SecretReference": "name namespace",
    "Namespace": SPEC_STATUS,
    "NamespaceSpec": "finalizers",
    "NamespaceStatus": "phase conditions",
    "NamespaceCondition": "type status - lastTransitionTime reason message",
    "ServiceAccount": "metadata secrets imagePullSecrets automountServiceAccountToken",
    "Service": SPEC_STATUS,
    "ServiceSpec": "ports selector clusterIP type externalIPs - sessionAffinity loadBalancerIP "
    "loadBalancerSourceRanges externalName externalTrafficPolicy healthCheckNodePort publishNotReadyAddresses "
    "sessionAffinityConfig - - ipFamilyPolicy clusterIPs ipFamilies allocateLoadBalancerNodePorts loadBalancerClass "
    "internalTrafficPolicy trafficDistribution",
    "ServicePort": "name protocol port targetPort nodePort appProtocol",
    "ServiceStatus": "loadBalancer conditions",
    "SessionAffinityConfig": "clientIP",
    "ClientIPConfig": "timeoutSeconds",
    "LoadBalancerStatus": "ingress",
    "LoadBalancerIngress": "ip hostname ipMode ports",
    "Endpoints": "metadata subsets",
    "EndpointSubset": "addresses notReadyAddresses ports",
    "EndpointAddress": "ip targetRef hostname nodeName",
    "EndpointPort": "name port protocol appProtocol",
    "ReplicationController": SPEC_STATUS,
    "ReplicationControllerSpec": "replicas selector template minReadySeconds",
    "ReplicationControllerStatus": "replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas "
    "conditions",
    "ResourceQuota": SPEC_STATUS,
    "ResourceQuotaSpec": "hard scopes scopeSelector",
    "ResourceQuotaStatus": "hard used",
    "ScopeSelector": "matchExpressions",
    "ScopedResourceSelectorRequirement": "scopeName operator values",
    "LimitRange": "metadata spec",
    "LimitRangeSpec": "limits",
    "LimitRangeItem": "type max min default defaultRequest maxLimitRequestRatio",
    "Event": "metadata involvedObject reason message source firstTimestamp lastTimestamp count type eventTime series "
    "action related reportingComponent reportingInstance",
    "EventSeries": "count lastObservedTime",
    "EventSource": "component host",
    "Node": SPEC_STATUS,
    "NodeSpec": "podCIDR externalID providerID unschedulable taints configSource podCIDRs",
    "Taint": "key value effect timeAdded",
    "NodeStatus": "capacity allocatable phase conditions addresses daemonEndpoints nodeInfo images volumesInUse "
    "volumesAttached config runtimeHandlers features declaredFeatures",
    "NodeCondition": "type status lastHeartbeatTime lastTransitionTime reason message",
    "NodeAddress": "type address",
    "NodeDaemonEndpoints": "kubeletEndpoint",
    "DaemonEndpoint": "Port",
    "NodeSystemInfo": "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion "
    "kubeProxyVersion operatingSystem architecture swap",
    "ContainerImage": "names sizeBytes",
    "AttachedVolume": "name devicePath",
    "NodeFeatures": "supplementalGroupsPolicy",
    "PersistentVolume": SPEC_STATUS,
    "PersistentVolumeSpec": "capacity @PersistentVolumeSource accessModes claimRef persistentVolumeReclaimPolicy "
    "storageClassName mountOptions volumeMode nodeAffinity volumeAttributesClassName",
    "PersistentVolumeSource": "gcePersistentDisk awsElasticBlockStore hostPath - nfs - - - - fc - - - - - azureDisk "
    "- - - local - csi",
    "LocalVolumeSource": "path fsType",
    "CSIPersistentVolumeSource": "driver volumeHandle readOnly fsType volumeAttributes controllerPublishSecretRef "
    "nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef nodeExpandSecretRef",
    "VolumeNodeAffinity": "required",
    "PersistentVolumeStatus": "phase message reason lastPhaseTransitionTime",
    "PersistentVolumeClaim": SPEC_STATUS,
    "PersistentVolumeClaimSpec": "accessModes resources volumeName selector storageClassName volumeMode dataSource "
    "dataSourceRef volumeAttributesClassName",
    "VolumeResourceRequirements": "limits requests",
    "TypedLocalObjectReference": "apiGroup kind name",
    "TypedObjectReference": "apiGroup kind name namespace",
    "PersistentVolumeClaimStatus": "phase accessModes capacity conditions allocatedResources - "
    "allocatedResourceStatuses currentVolumeAttributesClassName modifyVolumeStatus",
    "PersistentVolumeClaimCondition": "type status lastProbeTime lastTransitionTime reason message",
    "TopologySelectorTerm": "matchLabelExpressions",
    "TopologySelectorLabelRequirement": "key values",
}
