//! The parts of each kind of object, and where their settings may stand.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Form, NAME_LIMIT, Object, Part};
use crate::domain::Role;
use crate::lint::document::Node;
use crate::wire;

fn part<'a>(object: &Object<'a>, name: &str, form: Form, node: &'a Node) -> Part<'a> {
    Part {
        file: object.sheet.file,
        template: object.sheet.document.template.as_deref(),
        name: wire::printable(name, NAME_LIMIT).into(),
        form,
        head: (node.line, node.column),
        node,
        envs: Vec::new(),
        container: None,
        role: Role::Other,
        backend: None,
        replicas: 1,
        claims: BTreeMap::new(),
        config: None,
        lenders: Vec::new(),
        hidden: Vec::new(),
        unread: None,
        unsure: Vec::new(),
    }
}

/// Returns the components of a graph deployment with this `spec`.
pub(super) fn graph_parts<'a>(object: &Object<'a>, spec: Option<&'a Node>) -> Vec<Part<'a>> {
    let Some(spec) = spec else { return Vec::new() };
    let services = spec.get("services").map_or(&[][..], Node::entries).iter();
    let old = services.map(|(key, node)| {
        let mut part = service(object, &key.text, node);
        part.head = (key.line, key.column);
        // Up to 1.1 what the service and its graph set wins over its container's own.
        let image = part.container.and_then(|container| container.string("image"));
        let own_first = image.is_some_and(wire::services_win);
        let at = if own_first {
            part.envs.rotate_right(1);
            1
        } else {
            0
        };
        part.envs.insert(at, (spec, "envs"));
        part
    });
    let components = spec.get("components").map_or(&[][..], Node::items).iter();
    let new = components.filter_map(|node| {
        let mut part = component(object, node.string("name")?, node);
        part.envs.insert(0, (spec, "env"));
        Some(part)
    });
    old.chain(new).collect()
}

/// Returns the services that a document holds by name, with nothing around them.
pub(super) fn loose<'a>(object: &Object<'a>) -> Vec<Part<'a>> {
    let services = object.node.entries().iter();
    let named = services.map(|(key, node)| {
        let mut part = service(object, &key.text, node);
        part.head = (key.line, key.column);
        part
    });
    named.collect()
}

fn service<'a>(object: &Object<'a>, name: &str, node: &'a Node) -> Part<'a> {
    let mut part = part(object, name, Form::Service, node);
    part.envs.push((node, "envs"));
    part.container = node.at(&["extraPodSpec", "mainContainer"]);
    part.envs.extend(part.container.map(|container| (container, "env")));
    part
}

fn component<'a>(object: &Object<'a>, name: &str, node: &'a Node) -> Part<'a> {
    let mut part = part(object, name, Form::Component, node);
    part.envs.push((node, "env"));
    part.container = node.at(&["podTemplate", "spec", "containers"]).and_then(main_container);
    part.envs.extend(part.container.map(|container| (container, "env")));
    part
}

fn main_container(containers: &Node) -> Option<&Node> {
    let all = containers.items();
    all.iter()
        .find(|container| container.string("name") == Some("main"))
        .or_else(|| all.iter().find(|container| wire::runs_module(&container.json())))
        .or_else(|| all.first())
}

/// Returns a component that has an object of its own, as the graph deployment that it is a piece of.
pub(super) fn single<'a>(object: &Object<'a>) -> (&'static str, Value, Vec<Part<'a>>) {
    let Some(spec) = object.node.get("spec") else { return ("", Value::Null, Vec::new()) };
    let name = spec.string("serviceName").unwrap_or(object.name);
    let metadata = object.node.get("metadata").map_or(Value::Null, Node::json);
    let backend = spec.get("backendFramework").map_or(Value::Null, Node::json);
    let mut body = spec.json();
    let (key, inner, part) = if spec.get("podTemplate").is_some() {
        body["name"] = json!(name);
        ("components", json!([body]), component(object, name, spec))
    } else {
        ("services", json!({name: body}), service(object, name, spec))
    };
    let value = json!({"metadata": metadata, "spec": {"backendFramework": backend, key: inner}});
    ("DynamoGraphDeployment", value, vec![part])
}

/// Returns a workload as a pod of it.
pub(super) fn workload<'a>(object: &Object<'a>) -> (&'static str, Value, Vec<Part<'a>>) {
    let template = if object.kind == "Pod" {
        Some(object.node)
    } else {
        object.node.at(&["spec", "template"])
    };
    let containers = template.and_then(|template| template.at(&["spec", "containers"]));
    let Some((template, containers)) = template.zip(containers) else {
        return ("", Value::Null, Vec::new());
    };
    let labels = template.at(&["metadata", "labels"]).map_or(Value::Null, Node::json);
    let value = json!({
        "metadata": {"name": object.name, "namespace": object.namespace, "labels": labels},
        "spec": template.get("spec").map_or(Value::Null, Node::json),
    });
    let mut part = part(object, object.name, Form::Workload, object.node);
    part.container = main_container(containers);
    part.envs.extend(part.container.map(|container| (container, "env")));
    let replicas = object.node.at(&["spec", "replicas"]).map(Node::json);
    part.replicas = replicas.and_then(|replicas| replicas.as_u64()).unwrap_or(1);
    ("Pod", value, vec![part])
}
