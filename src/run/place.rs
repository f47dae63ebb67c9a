//! Resolves `-n NAME` to a Kubernetes namespace: one of that name, or the one with the graph deployment or
//! Dynamo namespace of that name.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::sleep;

use super::RunError;
use crate::attach::{self, Place};
use crate::cli::{self, SourceArgs};
use crate::clock;
use crate::domain::{Fact, Graph, Pod};
use crate::dynamo::label;
use crate::frame::{Frame, KubeChange, Origin};
use crate::source::kube::{KubeClient, Refusal, Within};
use crate::wire::{self, Facts};

/// For a second or two after its start an API server answers 403 to those who may.
const FORBIDDEN_PAUSE: Duration = Duration::from_secs(2);

/// Most namespaces that are looked into one by one, where the whole cluster may not be listed.
const MOST: usize = 64;

/// Names that an error repeats.
const NAMED: usize = 5;

/// Labels of pods that name their deployment.
const LABELS: [&str; 2] = [label::NAMESPACE, label::GRAPH_DEPLOYMENT_NAME];

/// A client, and the arguments that name what it looks at.
pub(super) struct Found {
    pub(super) client: KubeClient,
    pub(super) args: SourceArgs,
    /// The name that was given, where it is not that of the Kubernetes namespace.
    pub(super) asked: Option<String>,
    /// True when the API server could not be asked, and the name was taken for a namespace.
    pub(super) unsure: bool,
}

/// A name that means several deployments.
#[derive(Debug)]
pub struct Ambiguous {
    pub(super) name: String,
    pub(super) places: Vec<Place>,
    pub(super) client: KubeClient,
}

impl fmt::Display for Ambiguous {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.places.iter().map(Place::describe).collect();
        write!(
            out,
            "`{}` is ambiguous: {}; pass -n with one of these namespaces",
            self.name,
            all.join(", ")
        )
    }
}

/// A name that means nothing that could be found.
#[derive(Debug, Default)]
pub struct NotFound {
    name: String,
    /// The places where deployments were looked for.
    searched: Vec<String>,
    /// Resources without permission to list.
    unlisted: Vec<String>,
    nearest: Vec<String>,
}

impl fmt::Display for NotFound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "no namespace, graph deployment or Dynamo namespace is named `{}`", self.name)?;
        if !self.searched.is_empty() {
            write!(out, "; searched {}", some_of(&self.searched))?;
        }
        if !self.unlisted.is_empty() {
            write!(out, "; no permission to list {}", some_of(&self.unlisted))?;
        }
        match self.nearest.as_slice() {
            [] => Ok(()),
            names => write!(out, "; did you mean {}?", names.join(" or ")),
        }
    }
}

fn some_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Returns what the namespace that `args` name means for `client`, which looks at the context's. Where
/// the API server cannot be asked it is taken for a Kubernetes namespace.
pub(super) async fn find(client: KubeClient, args: &SourceArgs) -> Result<Found, RunError> {
    let Some(name) = args.namespace.clone() else {
        return Ok(Found { client, args: args.clone(), asked: None, unsure: false });
    };
    let mut search = Search::run(&client, &name).await;
    if search.existence == Existence::Hidden && search.places.is_empty() {
        sleep(FORBIDDEN_PAUSE).await;
        search = Search::run(&client, &name).await;
    }
    let own = |args: &SourceArgs, unsure| Found {
        client: client.at(&name),
        args: args.clone(),
        asked: None,
        unsure,
    };
    if search.existence == Existence::Exists {
        return Ok(own(args, false));
    }
    let places = chosen(std::mem::take(&mut search.places), args.dgd.as_deref());
    if let [place] = places.as_slice() {
        return Ok(at(&client, args, place, &name));
    }
    if !places.is_empty() {
        return Err(RunError::Ambiguous(Box::new(Ambiguous { name, places, client })));
    }
    match (search.existence, search.lost.take()) {
        (Existence::Impossible, Some(why)) => Err(RunError::Lookup { name, why: Box::new(why) }),
        (Existence::Missing | Existence::Impossible, None) => {
            Err(RunError::NotFound(Box::new(search.not_found(&name))))
        }
        (_, lost) => Ok(own(args, lost.is_some())),
    }
}

/// Returns `args` for `place`, which `name` led to.
pub(super) fn at(client: &KubeClient, args: &SourceArgs, place: &Place, name: &str) -> Found {
    let args = SourceArgs {
        namespace: Some(place.namespace.to_string()),
        dgd: args.dgd.clone().or_else(|| place.dgd.clone()),
        dynamo_namespace: args.dynamo_namespace.clone().or_else(|| place.dynamo_namespace.clone()),
        ..args.clone()
    };
    let asked = (*place.namespace != *name).then(|| name.to_owned());
    Found { client: client.at(&place.namespace), args, asked, unsure: false }
}

/// Returns those of `places` that have `dgd`. One that several deployments share may have it.
fn chosen(places: Vec<Place>, dgd: Option<&str>) -> Vec<Place> {
    let Some(dgd) = dgd else { return places };
    let fits = |place: &Place| place.dgd.as_deref().is_none_or(|name| name == dgd);
    if places.iter().any(fits) { places.into_iter().filter(fits).collect() } else { places }
}

/// The existence of a Kubernetes namespace of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existence {
    Exists,
    Missing,
    /// Listing is permitted, and the namespace has no pod.
    Empty,
    /// The login may not learn if there is one.
    Hidden,
    /// No namespace can have this name.
    Impossible,
}

/// A search for a name.
struct Search {
    existence: Existence,
    places: Vec<Place>,
    names: BTreeSet<String>,
    searched: Vec<String>,
    unlisted: Vec<String>,
    /// The reason why the API server could not be asked.
    lost: Option<Refusal>,
}

impl Search {
    async fn run(client: &KubeClient, name: &str) -> Self {
        let mut search = Self {
            existence: Existence::Impossible,
            places: Vec::new(),
            names: BTreeSet::new(),
            searched: Vec::new(),
            unlisted: Vec::new(),
            lost: None,
        };
        if cli::label(name).is_ok() {
            search.look_for_namespace(client, name).await;
        }
        if search.existence != Existence::Exists && search.lost.is_none() {
            search.look_for_deployments(client, name).await;
        }
        if search.existence == Existence::Empty && !search.unlisted.is_empty() {
            // A right in one namespace is given in one that exists.
            search.existence = Existence::Exists;
        }
        search
    }

    async fn look_for_namespace(&mut self, client: &KubeClient, name: &str) {
        self.existence = Existence::Hidden;
        let exists = match client.has_namespace(name).await {
            Ok(true) => Ok(Existence::Exists),
            Ok(false) => Ok(Existence::Missing),
            // Whoever may look at one namespace only may list its pods.
            Err(Refusal::Forbidden(_)) => match client.has_pods(name).await {
                Ok(true) => Ok(Existence::Exists),
                Ok(false) => Ok(Existence::Empty),
                Err(refusal) => Err(refusal),
            },
            Err(refusal) => Err(refusal),
        };
        match exists {
            Ok(existence) => self.existence = existence,
            Err(Refusal::Forbidden(_)) => {}
            Err(refusal) => self.lost = Some(refusal),
        }
    }

    async fn look_for_deployments(&mut self, client: &KubeClient, name: &str) {
        let all = self.listed(client.graph_deployments(Within::Cluster).await, || {
            "graph deployments of the whole cluster".to_owned()
        });
        let mut graphs: Vec<Graph> = Vec::new();
        let mut rest = Vec::new();
        if let Some(bodies) = all {
            self.searched.push("the graph deployments of the whole cluster".to_owned());
            graphs.extend(bodies.into_iter().filter_map(graph));
        } else if self.lost.is_none() {
            rest = self.namespaces(client).await;
            for namespace in &rest {
                let within = Within::Namespace(namespace);
                let answer = client.graph_deployments(within).await;
                let Some(bodies) = self.listed(answer, || format!("namespace {namespace}")) else {
                    continue;
                };
                self.searched.push(format!("namespace {namespace}"));
                graphs.extend(bodies.into_iter().filter_map(graph));
            }
        }
        self.places = attach::places(name, &graphs, &[]);
        let mut pods = Vec::new();
        if self.places.is_empty() && self.lost.is_none() {
            pods = labelled(client, name, &rest).await;
            self.places = attach::places(name, &graphs, &pods);
        }
        self.names.extend(attach::names(&graphs, &pods));
        if self.places.is_empty()
            && self.lost.is_none()
            && let Ok((namespaces, _)) = client.namespaces().await
        {
            self.names.extend(namespaces);
        }
    }

    /// Returns the namespaces to look into one by one: all of them where they may be listed, and else
    /// those that the kubeconfig names for this cluster.
    async fn namespaces(&mut self, client: &KubeClient) -> Vec<String> {
        let mut found = BTreeSet::from([client.namespace().to_string()]);
        match client.namespaces().await {
            Ok((names, _)) => found.extend(names),
            Err(refusal) => {
                self.listed::<()>(Err(refusal), || "namespaces".to_owned());
                found.extend(namespaces_of_contexts(client));
            }
        }
        found.into_iter().take(MOST).collect()
    }

    /// Returns the listed objects; notes missing permissions and missing answers.
    fn listed<T>(&mut self, answer: Result<T, Refusal>, what: impl Fn() -> String) -> Option<T> {
        match answer {
            Ok(found) => return Some(found),
            Err(Refusal::Forbidden(_)) => self.unlisted.push(what()),
            Err(refusal) if refusal.is_loss() => self.lost = Some(refusal),
            Err(refusal) => self.unlisted.push(format!("{} ({refusal})", what())),
        }
        None
    }

    fn not_found(self, name: &str) -> NotFound {
        NotFound {
            name: name.to_owned(),
            searched: self.searched,
            unlisted: self.unlisted,
            nearest: nearest(name, self.names),
        }
    }
}

/// Returns the namespaces that the kubeconfig names for the cluster of `client`.
pub(super) fn namespaces_of_contexts(client: &KubeClient) -> impl Iterator<Item = String> {
    let places = client.contexts().unwrap_or_default();
    let here = places.iter().find(|place| Some(place.name.as_str()) == client.context());
    let cluster = here.map(|place| place.cluster.clone());
    let same = places.into_iter().filter(move |place| Some(&place.cluster) == cluster.as_ref());
    same.filter_map(|place| place.namespace)
}

/// Returns those of `known` that may have been meant by `name`, the most similar first.
fn nearest(name: &str, known: BTreeSet<String>) -> Vec<String> {
    let farthest = name.chars().count().div_ceil(3);
    let similar = |known: String| {
        let is_part = name.len() > 3 && (known.contains(name) || name.contains(known.as_str()));
        let distance = if is_part { 1 } else { strsim::damerau_levenshtein(name, &known) };
        (distance <= farthest).then_some((distance, known))
    };
    let mut similar: Vec<(usize, String)> = known.into_iter().filter_map(similar).collect();
    similar.sort();
    similar.into_iter().take(3).map(|(_, known)| known).collect()
}

/// Returns the pods that say by a label that they are of `name`, in `namespaces` or in the whole cluster.
async fn labelled(client: &KubeClient, name: &str, namespaces: &[String]) -> Vec<Pod> {
    let places: Vec<Within<'_>> = match namespaces {
        [] => vec![Within::Cluster],
        some => some.iter().map(|name| Within::Namespace(name)).collect(),
    };
    let mut pods = Vec::new();
    for within in places {
        for label in LABELS {
            // Where pods may not be listed nothing is lost: a deployment of the operator has been found.
            let found = client.pods_with(label, name, within).await.unwrap_or_default();
            pods.extend(found.into_iter().filter_map(pod));
        }
    }
    pods
}

pub(super) fn graph(body: Bytes) -> Option<Graph> {
    facts("DynamoGraphDeployment", body).into_iter().find_map(|fact| match fact {
        Fact::Graph(graph) => Some(*graph),
        _ => None,
    })
}

pub(super) fn pod(body: Bytes) -> Option<Pod> {
    facts("Pod", body).into_iter().find_map(|fact| match fact {
        Fact::Pod(pod) => Some(*pod),
        _ => None,
    })
}

fn facts(kind: &str, body: Bytes) -> Vec<Fact> {
    let origin = Origin::Kube { kind: kind.into(), change: KubeChange::Listed };
    let mut facts = Facts::default();
    // One that cannot be read has no name to be found by.
    drop(wire::decode(&Frame::new(clock::now(), origin, body), &mut facts));
    facts.other
}
