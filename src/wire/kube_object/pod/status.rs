//! The status of a pod.

use serde_json::Value;

use crate::domain::Pod;
use crate::wire::kube_object::{list, shared, string, time};

pub(super) fn read(object: &Value, pod: &mut Pod) {
    let status = &object["status"];
    let condition =
        |kind: &str| list(&status["conditions"]).find(|condition| condition["type"] == kind);
    pod.ip = string(status, "podIP").map(shared);
    pod.phase = shared(string(status, "phase").unwrap_or_default());
    pod.ready = condition("Ready").is_some_and(|c| c["status"] == "True") && !pod.terminating;
    let statuses = &status["containerStatuses"];
    pod.restarts = list(statuses).filter_map(|status| status["restartCount"].as_u64()).sum();
    let name = pod.containers.first().map(|container| container.name.as_ref());
    let main = list(statuses).find(|status| string(status, "name") == name);
    let state = main.map_or(&Value::Null, |main| &main["state"]);
    let started = string(&state["running"], "startedAt").or_else(|| string(status, "startTime"));
    pod.started = started.and_then(time);
    let unscheduled = condition("PodScheduled").filter(|c| c["status"] == "False");
    pod.trouble = ["waiting", "terminated"]
        .iter()
        .find_map(|kind| string(&state[*kind], "reason"))
        .or_else(|| string(unscheduled?, "reason"))
        .map(shared);
}
