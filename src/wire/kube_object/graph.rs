//! `DynamoGraphDeployment`: v1alpha1 with `spec.services`, v1beta1 with `spec.components`.

use std::sync::Arc;

use serde_json::Value;

use super::command::{Command, Module};
use super::engine_file;
use super::env::Env;
use super::image;
use super::manifest;
use super::pod::{dynamo_namespace, main_container};
use super::settings::{Process, role_of};
use super::{Object, list, shared, string};
use crate::domain::{
    Backend, Basis, Claim, Component, ConfigMaps, Fact, Graph, GraphApi, ManifestPart, Release,
    Subject,
};
use crate::dynamo::label;
use crate::frame::Frame;
use crate::wire::{Facts, Reject};

/// One component in a form that both versions have.
struct Part<'a> {
    name: &'a str,
    kind: &'a str,
    sub_kind: &'a str,
    /// Lists of variables, the strongest last.
    envs: [&'a Value; 3],
    container: &'a Value,
    volumes: &'a Value,
    value: &'a Value,
    status: &'a Value,
    manifest: ManifestPart,
}

pub(super) fn decode(frame: &Frame, facts: &mut Facts) -> Result<(), Reject> {
    decode_with(frame, &ConfigMaps::new(), facts)
}

/// Reads a graph deployment whose variables may come from `maps`.
pub(super) fn decode_with(
    frame: &Frame,
    maps: &ConfigMaps,
    facts: &mut Facts,
) -> Result<(), Reject> {
    let object = Object::read(frame)?;
    if object.gone {
        facts.other.push(Fact::GraphGone { name: object.name });
        return Ok(());
    }
    let spec = &object.value["spec"];
    let backend = string(spec, "backendFramework").and_then(backend_named);
    let mut components = Vec::new();
    let mut claims = Vec::new();
    let mut parts = parts(&object.value);
    parts.sort_by_key(|part| part.name);
    for part in &parts {
        let (component, made) = read(&object, part, backend, maps);
        components.push(component);
        claims.extend(made);
    }
    let fixed = parts.iter().find_map(|part| {
        let global = part.value["globalDynamoNamespace"] == true;
        if global { Some("dynamo") } else { string(part.value, "dynamoNamespace") }
    });
    let dynamo_namespace =
        fixed.map(shared).or_else(|| Some(dynamo_namespace(object.namespace(), &object.name)));
    let version = string(&object.value, "apiVersion").and_then(|it| it.strip_prefix(label::PREFIX));
    let api = [GraphApi::V1Alpha1, GraphApi::V1Beta1]
        .into_iter()
        .find(|api| version == Some(api.version()));
    facts.other.push(Fact::Graph(Box::new(Graph {
        namespace: shared(object.namespace()),
        api,
        generation: object.value["metadata"]["generation"].as_u64(),
        changed: object.changed(),
        name: object.name,
        backend,
        dynamo_namespace,
        components,
    })));
    facts.other.extend(claims.into_iter().map(Fact::Claim));
    Ok(())
}

fn parts(object: &Value) -> Vec<Part<'_>> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let services = spec["services"].as_object().into_iter().flatten();
    let old = services.map(|(name, service)| {
        let container = &service["extraPodSpec"]["mainContainer"];
        let image = string(container, "image").unwrap_or_default();
        let mut envs = [&spec["envs"], &service["envs"], &container["env"]];
        envs.rotate_right(usize::from(image::services_win(image)));
        Part {
            name,
            kind: string(service, "componentType").unwrap_or_default(),
            sub_kind: string(service, "subComponentType").unwrap_or_default(),
            envs,
            container,
            volumes: &service["extraPodSpec"]["volumes"],
            value: service,
            status: &status["services"][name],
            manifest: manifest::of_service(name, service),
        }
    });
    let components = list(&spec["components"]);
    let new = components.enumerate().filter_map(|(place, component)| {
        let pod = &component["podTemplate"]["spec"];
        let container = main_container(&pod["containers"]).unwrap_or(&Value::Null);
        let name = string(component, "name")?;
        Some(Part {
            name,
            kind: string(component, "type").unwrap_or_default(),
            sub_kind: string(component, "subType").unwrap_or_default(),
            envs: [&spec["env"], &component["env"], &container["env"]],
            container,
            volumes: &pod["volumes"],
            value: component,
            status: &status["components"][name],
            manifest: manifest::of_component(place, component),
        })
    });
    old.chain(new).collect()
}

fn read(
    object: &Object,
    part: &Part<'_>,
    backend: Option<Backend>,
    maps: &ConfigMaps,
) -> (Component, Vec<Claim>) {
    let mut env = Env::default();
    // The operator puts a component's own variables into its container, where they win over `envFrom`.
    env.add_from(&part.container["envFrom"], maps);
    if let Some(secret) = string(part.value, "envFromSecret") {
        env.add_secret(secret);
    }
    for entries in part.envs {
        env.add(entries, maps, |_| None);
    }
    let image = string(part.container, "image").unwrap_or_default();
    let subject =
        Subject::Component { graph: Arc::clone(&object.name), component: shared(part.name) };
    let mut claims = Vec::new();
    let mut component = Component {
        name: shared(part.name),
        role: crate::domain::Role::Other,
        backend: None,
        replicas: part.value["replicas"].as_u64(),
        nodes: part.value["multinode"]["nodeCount"].as_u64(),
        ready: part.status["readyReplicas"].as_u64(),
        engine_file: None,
        hidden: Vec::new(),
        variables_from: env.sources(),
        manifest: part.manifest.clone(),
    };
    for (position, command) in Command::all_of(part.container, &env).iter().enumerate() {
        let role = role_of(command, part.kind, part.sub_kind);
        let backend = match command.module {
            Some(Module::Engine(backend)) => Some(backend),
            _ => backend.or_else(|| image::backend(image)),
        };
        let backend = backend.filter(|_| role.is_worker());
        let version = image::version(image).and_then(Release::parse);
        let config = engine_file::find(command, part.container, part.volumes, backend);
        let process = Process {
            subject: subject.clone(),
            place: format!("DynamoGraphDeployment {}, {}", object.name, component.name),
            basis: Basis::Manifest,
            role,
            backend,
            version,
            command,
            config: &config,
        };
        let said = process.said();
        claims.extend(said.claims);
        claims.extend(process.version_claim(image));
        if position == 0 {
            (component.role, component.backend) = (role, backend);
            (component.engine_file, component.hidden) = (said.engine_file, said.hidden);
        }
    }
    (component, claims)
}

fn backend_named(name: &str) -> Option<Backend> {
    let known = [Backend::TrtLlm, Backend::Vllm, Backend::SgLang, Backend::Mocker];
    known.into_iter().find(|backend| backend.name() == name)
}
