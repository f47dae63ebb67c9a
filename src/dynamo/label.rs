//! Labels, annotations and resources of Dynamo's operator.

/// The API group of Dynamo's resources, and the domain of its labels.
pub const GROUP: &str = "nvidia.com";

/// Prefix of labels and annotations of NVIDIA's operators.
pub const PREFIX: &str = "nvidia.com/";

/// Prefix of those of Dynamo's operator.
pub const DYNAMO_PREFIX: &str = "nvidia.com/dynamo-";

/// The resource of graph deployments.
pub const GRAPHS: &str = "dynamographdeployments";

/// The resource of discovery records in Kubernetes.
pub const WORKER_METADATA: &str = "dynamoworkermetadatas";

names! {
    COMPONENT = "nvidia.com/dynamo-component", "The component that a pod belongs to.";
    COMPONENT_TYPE = "nvidia.com/dynamo-component-type", "The kind of that component: frontend, worker, planner.";
    DISCOVERY_BACKEND = "nvidia.com/dynamo-discovery-backend", "Where the processes find each other.";
    DISCOVERY_ENABLED = "nvidia.com/dynamo-discovery-enabled", "Endpoint slices whose pods are discovered.";
    ENABLE_GROVE = "nvidia.com/enable-grove", "Whether Grove places the pods.";
    GRAPH_DEPLOYMENT_NAME = "nvidia.com/dynamo-graph-deployment-name", "The graph deployment that a pod belongs to.";
    METRICS_ENABLED = "nvidia.com/metrics-enabled", "Whether a pod's metrics are scraped.";
    NAMESPACE = "nvidia.com/dynamo-namespace", "Dynamo namespace.";
    SELECTOR = "nvidia.com/selector", "What a component's Service selects by.";
    SUB_COMPONENT_TYPE = "nvidia.com/dynamo-sub-component-type", "The part of requests that a worker serves: prefill, decode.";
}
