"""The names of all feature gates that kube-scheduler knows, for --feature-gates.

Upstream: pkg/features/kube_features.go and the same file of the libraries it is built on (v1.36.4).
"""

from typing import Final

LOCKED_ON: Final = frozenset(
    """
    APIServerTracing AggregatedDiscoveryRemoveBetaType AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
    CSIServiceAccountTokenSecrets ConsistentListFromCache DRAAdminAccess DeclarativeValidation
    DisableAllocatorDualWrite DisableNodeKubeProxyVersion DynamicResourceAllocation ExecProbeTimeout
    ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers InPlacePodVerticalScaling
    JobBackoffLimitPerIndex JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI
    KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
    LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator MutableCSINodeAllocatableCount
    NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
    PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking PodSchedulingReadiness
    PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts
    RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation ResilientWatchCacheInitialization
    SELinuxChangePolicy SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
    ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
    ServiceAccountTokenPodNodeInfo StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
    StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions
    UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay
    """.split()  # noqa: SIM905 - a list of names reads better as text
)
"""On for good: switching them off is refused."""

LOCKED_OFF: Final = frozenset(
    """
    AllowOverwriteTerminationGracePeriodSeconds GitRepoVolumeDriver
    """.split()  # noqa: SIM905 - a list of names reads better as text
)
"""Off for good."""

OTHERS_ON: Final = frozenset(
    """
    APIResponseCompression APIServerIdentity AllBeta AllowParsingUserUIDFromCertAuth AllowServiceExternalIPs
    AtomicFIFO AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
    CRDObservedGenerationTracking CRDValidationRatcheting ClearingNominatedNodeNameAfterBinding
    ClientsAllowCARotation ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
    ContainerCheckpoint ContainerRestartRules ContextualLogging CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors
    DRAResourceClaimGranularStatusAuthorization DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
    DetectCacheInconsistency DisableCPUQuotaWithExclusiveCPUs EnvFiles ExtendWebSocketsToKubelet
    GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
    InOrderInformersBatchProcess InPlacePodVerticalScalingInitContainers InformerResourceVersion
    KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages KubeletPodResourcesListUseActivePods
    KubeletSeparateDiskGC KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
    MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs MutatingAdmissionPolicy
    OpenAPIEnums OpportunisticBatching PLEGOnDemandRelist PodDeletionCost PodReadyToStartContainersCondition
    PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences RelaxedServiceNameValidation
    ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile RemoteRequestHeaderUID ResourceHealthStatus
    ResourceHealthStatusMessage RestartAllContainersOnContainerExits RetryGenerateName
    RotateKubeletServerCertificate ServiceAccountNodeAudienceRestriction ServiceCIDRStatusFieldWiping
    SidecarContainers SizeBasedListCostEstimate StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
    StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet StatefulSetSemanticRevisionComparison
    StorageNamespaceIndex StorageVersionHash StrictIPCIDRValidation
    StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfigurationJWKSMetrics
    TokenRequestServiceAccountUIDValidation TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
    UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
    WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
    """.split()  # noqa: SIM905 - a list of names reads better as text
)
"""On by default, and without meaning for what is decided here."""

OTHERS_OFF: Final = frozenset(
    """
    APIServingWithRoutine AllAlpha AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
    AllowUnsafeMalformedObjectDeletion CBORServingAndStorage CPUManagerPolicyAlphaOptions CRIListStreaming
    CSIVolumeHealth ChangeContainerStatusOnKubeletRestart ClientsAllowCBOR ClientsPreferCBOR
    CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook ClusterTrustBundle
    ClusterTrustBundleProjection ConcurrentWatchObjectDecode ContainerStopSignals
    ControllerManagerReleaseLeaderElectionLockOnExit CoordinatedLeaderElection CrossNamespaceVolumeDataSource
    DRAResourcePoolStatus DRAWorkloadResourceClaims DeclarativeValidationTakeover EventedPLEG GangScheduling
    GenericWorkload HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs
    InPlacePodVerticalScalingExclusiveMemory KMSv1 KubeletInUserNamespace KubeletRegistrationGetOnExistsOnly
    LocalStorageCapacityIsolationFSQuotaMonitoring LoggingAlphaOptions ManifestBasedAdmissionControlConfig
    MaxUnavailableStatefulSet MemoryQoS MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
    PodAndContainerStatsFromCRI PodCertificateRequest PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI
    QOSReserved ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi SELinuxMount SchedulerAsyncAPICalls
    SeparateCacheWatchRPC ShardedListAndWatch StorageVersionAPI StorageVersionMigrator
    TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions UserNamespacesHostNetworkSupport
    WindowsCPUAndMemoryAffinity WindowsHostNetwork WorkloadAwarePreemption WorkloadWithJob
    """.split()  # noqa: SIM905 - a list of names reads better as text
)
"""Off by default."""

UNSUPPORTED: Final = frozenset(
    """
    AllAlpha CoordinatedLeaderElection DRAWorkloadResourceClaims GangScheduling GenericWorkload
    TopologyAwareWorkloadScheduling WorkloadAwarePreemption
    """.split()  # noqa: SIM905 - a list of names reads better as text
)
"""What they switch on is not there: asking for it is refused."""
