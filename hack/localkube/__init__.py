"""A real Kubernetes control plane on this machine, for tests, benches and trying things out (see hack/cluster)."""

from localkube.cluster import Cluster, sweep
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl
from localkube.operator_process import OperatorProcess

__all__ = ["Cluster", "Kubectl", "LocalkubeError", "OperatorProcess", "sweep"]
