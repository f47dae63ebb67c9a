//! Reads deployments, their parts and their configuration from documents.
//!
//! Each object goes through the decoders that read it in a cluster; here is only where it stands.

mod fragment;
mod parts;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::document::{Document, Node};
use super::{Source, Unreadable};
use crate::domain::{Backend, Claim, ClaimOf, ClaimValue, ClaimWhat, HiddenSetting, Role};
use crate::dynamo::{label, variable};
use crate::wire;
use fragment::Fragment;
use reader::Reader;

/// Most parts that are looked at in one run.
const PART_LIMIT: usize = 10_000;

/// A document with the file that it is from.
pub(super) struct Sheet {
    pub(super) file: usize,
    pub(super) document: Document,
}

/// The form of a part's manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `spec.services.NAME`.
    Service,
    /// `spec.components[]`.
    Component,
    /// The pod template of a Deployment, a `StatefulSet` or a pod.
    Workload,
}

/// The longest name in Kubernetes.
const NAME_LIMIT: usize = 253;

/// A component of a deployment.
#[derive(Debug)]
pub(super) struct Part<'a> {
    pub(super) file: usize,
    pub(super) template: Option<&'a str>,
    pub(super) name: Arc<str>,
    pub(super) form: Form,
    /// Its start: line and column.
    pub(super) head: (usize, usize),
    /// The component itself.
    pub(super) node: &'a Node,
    /// Lists of variables, the weakest first, with the map that each is a key of and the key.
    pub(super) envs: Vec<(&'a Node, &'static str)>,
    /// The container that Dynamo's process runs in.
    pub(super) container: Option<&'a Node>,
    pub(super) role: Role,
    pub(super) backend: Option<Backend>,
    pub(super) replicas: u64,
    /// Its best claims.
    pub(super) claims: BTreeMap<(ClaimWhat, ClaimOf), Claim>,
    /// The configuration of its engine, with how claims name it.
    pub(super) config: Option<(Arc<str>, Config<'a>)>,
    /// The `ConfigMap`s that variables come from, as far as these were given.
    pub(super) lenders: Vec<Lender<'a>>,
    /// The `ConfigMap`s that variables come from and that were not given.
    pub(super) hidden: Vec<Arc<str>>,
    /// A configuration file of its engine that was not given.
    pub(super) unread: Option<Arc<str>>,
    /// Settings that it may be given where lint cannot read.
    pub(super) unsure: Vec<HiddenSetting>,
}

/// Parts that work together.
#[derive(Debug)]
pub(super) struct Deployment<'a> {
    pub(super) name: String,
    pub(super) parts: Vec<Part<'a>>,
    /// File and line where it begins, when it is but a piece of one.
    pub(super) fragment: Option<(usize, usize)>,
}

/// A configuration file of an engine, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config<'a> {
    pub(super) file: usize,
    pub(super) node: &'a Node,
}

/// A `ConfigMap` that variables come from, by name, with its data.
pub(super) type Lender<'a> = (Arc<str>, Config<'a>);

/// One Kubernetes object.
struct Object<'a> {
    sheet: &'a Sheet,
    node: &'a Node,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    /// The enclosing object, for a fragment.
    fragment: Option<Fragment>,
}

/// The deployment name of a fragment.
const FRAGMENT: &str = "fragment";

/// Reads what `sheets` hold. Objects that their decoders refuse are told in `refused`.
pub(super) fn read<'a>(
    sheets: &'a [Sheet],
    sources: &[Source],
    refused: &mut Vec<Unreadable>,
) -> Vec<Deployment<'a>> {
    let objects: Vec<Object<'a>> = sheets.iter().flat_map(objects_of).collect();
    let mut reader = Reader {
        maps: objects.iter().filter(|object| object.kind == "ConfigMap").collect(),
        files: sheets.iter().filter(|sheet| is_plain(sheet)).collect(),
        sources,
        refused,
    };
    for sheet in sheets {
        if let Some(line) = unbuilt(sheet, sources) {
            let why =
                "an overlay that is not built; pipe `kubectl kustomize …` into `kvtop lint -`";
            reader.refused.push(Unreadable { file: sheet.file, line, why: why.to_owned() });
        }
    }
    let mut groups: BTreeMap<Group, Vec<Part<'a>>> = BTreeMap::new();
    let mut left = PART_LIMIT;
    for object in &objects {
        let parts = reader.parts(object);
        if parts.len() > left {
            let (file, line) = (object.sheet.file, object.node.line);
            let why = format!("more than {PART_LIMIT} components; the rest is skipped");
            reader.refused.push(Unreadable { file, line, why });
            break;
        }
        left -= parts.len();
        if !parts.is_empty() {
            let mut group = Group::new(object, sources);
            group.discovers = discovers(object, &parts);
            groups.entry(group).or_default().extend(parts);
        }
    }
    let groups = meeting(groups);
    let pieces = objects.iter().filter(|object| object.fragment.is_some());
    let pieces: Vec<_> = pieces.map(|object| (object.sheet.file, object.node.line)).collect();
    let named = |(group, parts): (Group, _)| Deployment {
        fragment: group.place.filter(|place| pieces.contains(place)),
        name: if group.name.is_empty() {
            group.discovers.unwrap_or(group.namespace)
        } else {
            group.name
        },
        parts,
    };
    groups.into_iter().map(named).collect()
}

/// The objects that an object works together with. A graph deployment is whole in itself; others are told by their
/// graph deployment or namespace, and by their folder: overlays repeat names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    folder: String,
    /// File and line of what is whole in itself.
    place: Option<(usize, usize)>,
    namespace: String,
    name: String,
    /// The Dynamo namespace that its processes are told to look for each other in; none sees all.
    discovers: Option<String>,
}

/// Returns the Dynamo namespace that a workload is told; a graph deployment's operator gives it one.
fn discovers(object: &Object<'_>, parts: &[Part<'_>]) -> Option<String> {
    if object.kind == "DynamoGraphDeployment" {
        return None;
    }
    let told = parts.first()?.variable(variable::NAMESPACE)?.entry.string("value")?;
    Some(wire::printable(told, NAME_LIMIT).into_owned()).filter(|told| !told.contains(['$', '{']))
}

/// Joins the groups of which one sees all Dynamo namespaces (dynamo-llm 1.2, `namespace.rs`: a given one must match).
fn meeting(groups: BTreeMap<Group, Vec<Part<'_>>>) -> BTreeMap<Group, Vec<Part<'_>>> {
    let everywhere = |group: &Group| Group { discovers: None, ..group.clone() };
    let open: BTreeSet<Group> =
        groups.keys().filter(|group| group.discovers.is_none()).cloned().collect();
    let mut met: BTreeMap<Group, Vec<Part<'_>>> = BTreeMap::new();
    for (group, parts) in groups {
        let whole = everywhere(&group);
        let group = if open.contains(&whole) { whole } else { group };
        met.entry(group).or_default().extend(parts);
    }
    met
}

impl Group {
    fn new(object: &Object<'_>, sources: &[Source]) -> Self {
        let label = label::GRAPH_DEPLOYMENT_NAME;
        let places = [
            object.node.at(&["metadata", "labels", label]),
            object.node.at(&["spec", "template", "metadata", "labels", label]),
            object.node.at(&["spec", "dynamoNamespace"]),
        ];
        let whole = object.kind == "DynamoGraphDeployment";
        let other = places.into_iter().flatten().find_map(Node::text).unwrap_or_default();
        let name = if whole { object.name } else { other };
        Self {
            folder: folder(sources, object.sheet.file).to_owned(),
            place: whole.then_some((object.sheet.file, object.node.line)),
            namespace: wire::printable(object.namespace, NAME_LIMIT).into_owned(),
            name: wire::printable(name, NAME_LIMIT).into_owned(),
            discovers: None,
        }
    }
}

/// Keys of a kustomization that change the objects which it names, or make some.
const CHANGING: [&str; 9] = [
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "components",
    "replacements",
    "configMapGenerator",
    "helmCharts",
    "images",
    "replicas",
];

/// Returns the line of the part of a kustomization that changes objects: how they will be is only known once it is
/// built. None for other documents.
fn unbuilt(sheet: &Sheet, sources: &[Source]) -> Option<usize> {
    let root = &sheet.document.root;
    let name = sources.get(sheet.file).map_or("", |source| source.name.as_ref());
    let name = name.rsplit('/').next().unwrap_or_default();
    let is_one = ["kustomization.yaml", "kustomization.yml"].contains(&name)
        || root.string("kind") == Some("Kustomization");
    let mut changing = CHANGING.into_iter().filter_map(|key| root.get(key));
    changing.next().filter(|_| is_one).map(|node| node.line)
}

/// Returns the folder of a file.
fn folder(sources: &[Source], file: usize) -> &str {
    let name = sources.get(file).map_or("", |source| source.name.as_ref());
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn objects_of<'a>(sheet: &'a Sheet) -> Vec<Object<'a>> {
    let root = &sheet.document.root;
    let is_list = root.string("kind").is_some_and(|kind| kind.ends_with("List"));
    let nodes = match root.get("items") {
        Some(items) if is_list => items.items().iter().collect(),
        _ => vec![root],
    };
    if let Some(fragment) = Fragment::new(root) {
        return vec![Object {
            sheet,
            node: root,
            kind: "DynamoGraphDeployment",
            name: FRAGMENT,
            namespace: "",
            fragment: Some(fragment),
        }];
    }
    let object = |node: &'a Node| {
        Some(Object {
            fragment: None,
            sheet,
            node,
            kind: node.string("kind").or_else(|| item_kind(root))?,
            name: node.at(&["metadata", "name"])?.text()?,
            namespace: node.at(&["metadata", "namespace"]).and_then(Node::text).unwrap_or_default(),
        })
    };
    nodes.into_iter().filter_map(object).collect()
}

/// Items of a typed list do not repeat their kind.
fn item_kind(root: &Node) -> Option<&str> {
    root.string("kind")?.strip_suffix("List").filter(|kind| !kind.is_empty())
}

/// Returns true for documents that are no Kubernetes objects.
fn is_plain(sheet: &Sheet) -> bool {
    let root = &sheet.document.root;
    root.get("kind").is_none() && !root.entries().is_empty() && Fragment::new(root).is_none()
}

impl Part<'_> {
    /// Keeps a claim when it is better than what is known.
    fn note(&mut self, claim: Claim) {
        let known = self.claims.get(&(claim.what, claim.of));
        if known.is_none_or(|known| claim.basis >= known.basis) {
            self.claims.insert((claim.what, claim.of), claim);
        }
    }

    /// Returns the configuration that a claim was read from.
    pub(super) fn config_of(&self, claim: &Claim) -> Option<Config<'_>> {
        let (name, config) = self.config.as_ref()?;
        (*name == claim.source).then_some(*config)
    }

    /// Returns the count that is claimed.
    pub(super) fn count(&self, what: ClaimWhat, of: ClaimOf) -> Option<u32> {
        match self.claims.get(&(what, of))?.value {
            ClaimValue::Count(count) => u32::try_from(count).ok(),
            _ => None,
        }
    }

    /// Returns the missing or unreadable input that may contain a setting.
    pub(super) fn hides(&self, what: ClaimWhat, of: ClaimOf) -> Option<&Arc<str>> {
        let hidden = self.unsure.iter().find(|known| (known.what, known.of) == (what, of));
        hidden.map(|known| &known.by)
    }

    /// Returns the model that it serves, when it says so.
    pub(super) fn model(&self) -> Option<&str> {
        match &self.claims.get(&(ClaimWhat::Model, ClaimOf::Card))?.value {
            ClaimValue::Text(model) => Some(model),
            _ => None,
        }
    }

    /// Returns Dynamo's version by the image's tag.
    pub(super) fn version(&self) -> Option<(u32, u32)> {
        let of = if self.role.is_router() { ClaimOf::Router } else { ClaimOf::Publisher };
        let ClaimValue::Text(text) = &self.claims.get(&(ClaimWhat::DynamoVersion, of))?.value
        else {
            return None;
        };
        let mut numbers = text.split(['.', '-']).map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}
