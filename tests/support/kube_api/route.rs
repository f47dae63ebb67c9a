//! What each request is answered with.

use serde_json::{Value, json};

use super::Request;
use super::forward::{self, Forward};
use super::http::{Head, Response};
use super::logs;
use super::store::{State, Timeline, Wanted, kind_of, recorded_response};
use crate::support::fixture;

/// How to answer.
pub(super) enum Answer {
    Now(Response),
    /// A recorded response, after which the connection closes.
    Recorded(Vec<u8>),
    /// A recorded stream, as it came.
    Timeline(Timeline),
    Watch {
        wanted: Wanted,
        from: From,
        bookmarks: bool,
        seconds: u64,
    },
    Log {
        pod: String,
        container: String,
        options: logs::Options,
    },
    Forward(Forward),
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// With what there is.
    Now,
    /// After a version.
    Version(u64),
}

/// What a path names.
#[derive(Debug, Default)]
struct Target {
    group: String,
    version: String,
    namespace: Option<String>,
    plural: String,
    name: Option<String>,
    sub: Option<String>,
}

impl Target {
    fn parse(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let group = match *parts.first()? {
            "api" => "",
            "apis" => parts.remove(1),
            _ => return None,
        };
        let version = (*parts.get(1)?).to_owned();
        let mut rest = parts.split_off(2);
        let mut namespace = None;
        if rest.first() == Some(&"namespaces") && rest.len() > 2 {
            namespace = Some(rest[1].to_owned());
            rest.drain(..2);
        }
        let mut rest = rest.into_iter().map(str::to_owned);
        let plural = rest.next()?;
        Some(Self {
            group: group.to_owned(),
            version,
            namespace,
            plural,
            name: rest.next(),
            sub: rest.next(),
        })
    }

    fn resource(&self) -> String {
        match &self.sub {
            Some(sub) => format!("{}/{sub}", self.plural),
            None => self.plural.clone(),
        }
    }
}

/// Returns the answer to a request, which it records.
pub(super) fn answer(state: &mut State, head: &Head) -> Answer {
    let user = user(state, head);
    state.requests.push(Request {
        agent: head.header("user-agent").to_owned(),
        method: head.method.clone(),
        path: head.path.clone(),
        query: head.query.clone(),
        user: user.clone().unwrap_or_default(),
    });
    let Some(user) = user else {
        return Answer::Recorded(recorded_response("errors/401_bad_token"));
    };
    if let Some(status) = state.fail_next.pop_front() {
        return Answer::Now(failure(status, "the test wanted this"));
    }
    let whole = format!("{}?{}", head.path, head.query);
    if let Some(at) = state.streams.iter().position(|(part, _)| whole.contains(part)) {
        return Answer::Timeline(state.streams.remove(at).1);
    }
    if let Some((_, response)) = state.answers.iter().find(|(part, _)| whole.contains(*part)) {
        return Answer::Recorded(response.clone());
    }
    if head.method != "GET" {
        return Answer::Now(failure(405, "the server does not allow this method on the resource"));
    }
    match head.path.trim_end_matches('/') {
        "/version" => return Answer::Now(recorded_json("discovery/version")),
        "/apis/nvidia.com" => return Answer::Now(group(state)),
        "/apis/nvidia.com/v1alpha1" => return Answer::Now(resources(state, "v1alpha1")),
        "/apis/nvidia.com/v1beta1" => return Answer::Now(resources(state, "v1beta1")),
        _ => {}
    }
    match Target::parse(&head.path) {
        Some(target) => of_resource(state, head, &target, &user),
        None => Answer::Now(Response::text(404, "404 page not found\n")),
    }
}

/// Returns who asks, none when the token is wrong.
fn user(state: &State, head: &Head) -> Option<String> {
    let token = head.header("authorization").strip_prefix("Bearer ")?;
    (token == state.token).then(|| match head.header("impersonate-user") {
        "" => "kvtop-viewer".to_owned(),
        other => other.to_owned(),
    })
}

fn of_resource(state: &State, head: &Head, target: &Target, user: &str) -> Answer {
    let verb = match (&target.name, head.flag("watch")) {
        (Some(_), _) => "get",
        (None, true) => "watch",
        (None, false) => "list",
    };
    let resource = target.resource();
    let denied = state.denied.contains(&(verb.to_owned(), resource.clone()))
        || !permitted(state, target, verb)
        || kvtop::clock::now().0 < state.denied_until;
    if denied {
        return Answer::Now(forbidden(target, verb, &resource, user));
    }
    let served = target.group != "nvidia.com"
        || target.version == "v1alpha1"
        || (state.v1beta1 && target.plural == "dynamographdeployments");
    if !served || state.missing.contains(&target.plural) || kind_of(&target.plural).is_none() {
        return Answer::Now(Response::text(404, "404 page not found\n"));
    }
    match (&target.name, target.sub.as_deref()) {
        (Some(pod), Some("log")) => log(state, head, pod),
        (Some(pod), Some("portforward")) => port_forward(state, head, target, pod),
        (Some(name), None) => Answer::Now(get(state, target, name)),
        (Some(_), Some(_)) => Answer::Now(Response::text(404, "404 page not found\n")),
        (None, _) if head.flag("watch") => watch(head, target),
        (None, _) => list(state, head, target),
    }
}

/// Returns true when a Role permits `verb`, or nothing is said of Roles.
fn permitted(state: &State, target: &Target, verb: &str) -> bool {
    let Some(permitted) = &state.permitted else { return true };
    let namespace = target.namespace.clone().unwrap_or_default();
    permitted.contains(&(namespace, target.resource(), verb.to_owned()))
}

fn wanted(head: &Head, target: &Target) -> Wanted {
    let labels = head.parameter("labelSelector").unwrap_or_default();
    let fields = head.parameter("fieldSelector").unwrap_or_default();
    Wanted {
        plural: target.plural.clone(),
        namespace: target.namespace.clone(),
        labels: labels
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| match part.split_once('=') {
                Some((label, value)) => {
                    (label.to_owned(), Some(value.trim_start_matches('=').to_owned()))
                }
                None => (part.to_owned(), None),
            })
            .collect(),
        name: fields.strip_prefix("metadata.name=").map(str::to_owned),
        ip: fields.strip_prefix("status.podIP=").map(str::to_owned),
    }
}

fn list(state: &State, head: &Head, target: &Target) -> Answer {
    let mut items = state.list(&wanted(head, target));
    let first = match head.parameter("continue") {
        // A token is the version of the list and the number of the first object.
        Some(token) => {
            let (version, first) = token.split_once('-').unwrap_or(("0", "0"));
            if version.parse().unwrap_or(0) < state.oldest {
                return Answer::Recorded(recorded_response("errors/410_continue_token_expired"));
            }
            first.parse().unwrap_or(0)
        }
        None => 0,
    };
    items.drain(..first);
    let limit = head.parameter("limit").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut metadata = json!({ "resourceVersion": state.version.to_string() });
    if limit > 0 && items.len() > limit {
        items.truncate(limit);
        metadata["continue"] = format!("{}-{}", state.version, first + limit).into();
    }
    let builtin = target.group != "nvidia.com";
    for item in items.iter_mut().filter_map(Value::as_object_mut).filter(|_| builtin) {
        item.shift_remove("kind");
        item.shift_remove("apiVersion");
    }
    let kind = kind_of(&target.plural).unwrap_or_default();
    let version = format!("{}/{}", target.group, target.version);
    Answer::Now(Response::json(
        200,
        &json!({
            "kind": format!("{kind}List"),
            "apiVersion": version.trim_start_matches('/'),
            "metadata": metadata,
            "items": items,
        }),
    ))
}

fn watch(head: &Head, target: &Target) -> Answer {
    let from = match head.parameter("resourceVersion").as_deref() {
        None | Some("" | "0") => From::Now,
        Some(version) => From::Version(version.parse().unwrap_or(0)),
    };
    Answer::Watch {
        wanted: wanted(head, target),
        from,
        bookmarks: head.flag("allowWatchBookmarks"),
        seconds: head.parameter("timeoutSeconds").and_then(|it| it.parse().ok()).unwrap_or(1800),
    }
}

fn get(state: &State, target: &Target, name: &str) -> Response {
    let kind = kind_of(&target.plural).unwrap_or_default();
    if let Some(object) = state.find(kind, name) {
        return Response::json(200, &object);
    }
    if kind == "Namespace" && state.has_namespace(name) {
        let object = json!({ "kind": kind, "apiVersion": "v1", "metadata": { "name": name } });
        return Response::json(200, &object);
    }
    let message = format!("{} \"{name}\" not found", target.plural);
    let mut body = status(404, "NotFound", &message);
    body["details"] = json!({ "name": name, "kind": target.plural });
    Response::json(404, &body)
}

fn log(state: &State, head: &Head, pod: &str) -> Answer {
    let Some(object) = state.find("Pod", pod) else {
        return Answer::Now(failure(404, &format!("pods \"{pod}\" not found")));
    };
    let names: Vec<&str> = object["spec"]["containers"]
        .as_array()
        .iter()
        .flat_map(|containers| containers.iter())
        .filter_map(|container| container["name"].as_str())
        .collect();
    let container = match (head.parameter("container"), names.as_slice()) {
        (Some(asked), _) => asked,
        (None, [only]) => (*only).to_owned(),
        (None, _) => {
            let names = names.join(" ");
            let message = format!(
                "a container name must be specified for pod {pod}, choose one of: [{names}]"
            );
            return Answer::Now(failure(400, &message));
        }
    };
    if !names.contains(&container.as_str()) {
        let message = format!("container {container} is not valid for pod {pod}");
        return Answer::Now(failure(400, &message));
    }
    let log = state.logs.get(&(pod.to_owned(), container.clone()));
    match log.and_then(|log| log.state.response()) {
        Some(recorded) => Answer::Recorded(recorded_response(recorded)),
        None => Answer::Log { pod: pod.to_owned(), container, options: logs::Options::of(head) },
    }
}

fn port_forward(state: &State, head: &Head, target: &Target, pod: &str) -> Answer {
    // From 1.35 on both verbs are needed; with `get` alone the message has no reason.
    if state.denied.contains(&("create".to_owned(), "pods/portforward".to_owned()))
        || !permitted(state, target, "create")
    {
        return Answer::Recorded(recorded_response("portforward/rbac_pf-get-only"));
    }
    if state.find("Pod", pod).is_none() {
        return Answer::Now(failure(404, &format!("pods \"{pod}\" not found")));
    }
    if !forward::is_upgrade(head) {
        return Answer::Now(failure(400, "Upgrade request required"));
    }
    let port = head.parameter("ports").and_then(|text| text.parse().ok()).unwrap_or(0);
    let target = state.forwards.get(&(pod.to_owned(), port)).copied();
    Answer::Forward(Forward { port, target })
}

fn group(state: &State) -> Response {
    let all = ["dynamographdeployments", "dynamoworkermetadatas"];
    if all.iter().all(|plural| state.missing.contains(*plural)) {
        return Response::text(404, "404 page not found\n");
    }
    if state.v1beta1 {
        return recorded_json("new-crds/discovery_apis_nvidia");
    }
    let version = json!({ "groupVersion": "nvidia.com/v1alpha1", "version": "v1alpha1" });
    Response::json(
        200,
        &json!({
            "kind": "APIGroup", "apiVersion": "v1", "name": "nvidia.com",
            "versions": [version.clone()], "preferredVersion": version,
        }),
    )
}

fn resources(state: &State, version: &str) -> Response {
    let name = match (state.v1beta1, version) {
        (false, "v1alpha1") => "discovery/apis_nvidia_v1alpha1",
        (true, "v1alpha1") => "new-crds/discovery_v1alpha1",
        (true, _) => "new-crds/discovery_v1beta1",
        (false, _) => return Response::text(404, "404 page not found\n"),
    };
    let mut list = read(name);
    if let Some(resources) = list["resources"].as_array_mut() {
        resources.retain(|it| {
            let name = it["name"].as_str().unwrap_or_default();
            !state.missing.contains(name.split('/').next().unwrap_or_default())
        });
    }
    Response::json(200, &list)
}

fn forbidden(target: &Target, verb: &str, resource: &str, user: &str) -> Response {
    let full = if target.group.is_empty() {
        target.plural.clone()
    } else {
        format!("{}.{}", target.plural, target.group)
    };
    let place = target.namespace.as_ref().map_or_else(
        || "at the cluster scope".to_owned(),
        |namespace| format!("in the namespace \"{namespace}\""),
    );
    let message = format!(
        "{full} is forbidden: User \"{user}\" cannot {verb} resource \"{resource}\" in API group \
         \"{}\" {place}",
        target.group
    );
    let mut body = status(403, "Forbidden", &message);
    body["details"] = json!({ "group": target.group, "kind": target.plural });
    Response::json(403, &body)
}

fn failure(code: u16, message: &str) -> Response {
    let reason = match code {
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        410 => "Expired",
        429 => "TooManyRequests",
        504 => "Timeout",
        _ => "InternalError",
    };
    let mut response = Response::json(code, &status(code, reason, message));
    if code == 429 {
        "Retry-After: 1\r\n".clone_into(&mut response.headers);
    }
    response
}

/// Returns a `Status` as Kubernetes writes it.
pub(super) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    })
}

fn recorded_json(name: &str) -> Response {
    Response::json(200, &read(name))
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(fixture(&format!("kube/{name}.body.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}
