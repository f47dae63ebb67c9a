//! Settings and block sizes for rules: of each process the claim that is nearest to what it does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::WorkerNames;
use crate::diagnose::{Ground, RouterKind, Setting, Settings, SizeClaim, Unreadable};
use crate::domain::{
    Backend, Basis, Claim, ClaimOf, ClaimValue, ClaimWhat, Component, Graph, Role, Subject,
    WorkerId,
};
use crate::engine::{Fleet, Setup};
use crate::model::{StoredClaim, WorkerRecord};

impl Setup<'_> {
    /// Returns everybody's block sizes, or tokens of largest blocks. A manifest speaks for pods that are not there yet only, and of
    /// routers those that choose workers.
    pub(super) fn size_claims(&self, what: ClaimWhat) -> Vec<SizeClaim> {
        let kind = self.router_kind();
        let counts = |stored: &&StoredClaim| {
            let claim = &stored.claim;
            let router = claim.of != ClaimOf::Router || self.may_choose(&claim.subject, kind);
            // Its metrics repeat the card, with which it does not hash.
            let adopts = claim.of == ClaimOf::Router && claim.basis == Basis::Observed;
            let router = router && !(adopts && self.fleet.hashes_itself(&claim.subject));
            router && self.speaks(&claim.subject)
        };
        let claims = self.fleet.claims.of_kind(what).filter(counts);
        claims.filter_map(|stored| self.size_claim(stored)).collect()
    }

    fn size_claim(&self, stored: &StoredClaim) -> Option<SizeClaim> {
        let claim = &stored.claim;
        let ClaimValue::Count(tokens) = claim.value else { return None };
        let (mut worker, mut pod, mut component) = (None, None, None);
        match &claim.subject {
            Subject::Worker(id) => worker = Some(*id),
            Subject::Pod(name) => match self.fleet.workers.in_pod(name) {
                Some(id) => worker = Some(id),
                None => pod = Some(Arc::clone(name)),
            },
            Subject::Component { component: name, .. } => component = Some(Arc::clone(name)),
            Subject::Deployment => {}
        }
        let role = self.part_of(worker, &claim.subject);
        // Encoders register a size too, which they use for nothing (1.4.2, `trtllm/workers/llm_worker.py:636`).
        if role.as_deref().is_some_and(Role::names_no_kv_blocks) {
            return None;
        }
        Some(SizeClaim {
            of: claim.of,
            worker,
            pod,
            component,
            role,
            model: claim.model.clone(),
            dynamo_namespace: self.dynamo_namespace(worker, &claim.subject),
            tokens: u32::try_from(tokens).ok().filter(|tokens| *tokens > 0)?,
            ground: ground(claim.basis),
            source: Arc::clone(&claim.source),
            raw: Arc::clone(&claim.raw),
            set_by: claim.set_by.clone(),
            medium: claim.medium,
            at: stored.first,
            last: stored.last,
        })
    }

    /// Returns the Dynamo namespace of a worker, as discovery names it, or else as its pod or graph deployment does;
    /// that of a router else as its own metrics or log do.
    pub(super) fn dynamo_namespace(
        &self,
        worker: Option<WorkerId>,
        subject: &Subject,
    ) -> Option<Arc<str>> {
        let known = worker.and_then(|worker| self.fleet.workers.worker(worker));
        if let Some(name) = known.and_then(|known| known.dynamo_namespace.as_ref()) {
            return Some(Arc::clone(name)).filter(|name| !name.is_empty());
        }
        let of_pod = |pod: &str| self.shown.cluster.pod(pod)?.pod.dynamo_namespace.clone();
        match subject {
            Subject::Pod(pod) => of_pod(pod).or_else(|| self.fleet.homes.of(pod)),
            Subject::Worker(_) => of_pod(known?.pod.as_deref()?),
            Subject::Component { graph, .. } => {
                let graph = self.shown.cluster.graphs().find(|known| known.name == *graph)?;
                graph.dynamo_namespace.clone()
            }
            Subject::Deployment => None,
        }
    }

    /// Returns what a worker does: as its card says, by its pod's settings, by its component in discovery, or else by
    /// its role in Kubernetes.
    pub(in crate::engine) fn part_of(
        &self,
        worker: Option<WorkerId>,
        subject: &Subject,
    ) -> Option<Arc<str>> {
        let said = worker.and_then(|worker| {
            let subject = [Subject::Worker(worker)];
            self.fleet.claims.best(ClaimWhat::WorkerType, &[ClaimOf::Card], &subject)
        });
        let known = worker.and_then(|worker| self.fleet.workers.worker(worker));
        let pod = match subject {
            Subject::Pod(pod) => Some(pod),
            Subject::Worker(_) => known.and_then(|known| known.pod.as_ref()),
            Subject::Component { graph, component } => {
                return Some(self.component(graph, component)?.role.name().into());
            }
            Subject::Deployment => None,
        };
        let role = pod.and_then(|pod| self.shown.cluster.pod(pod)).map(|record| record.pod.role);
        // Cards call workers for embeddings and images aggregated too (1.4.2, `vllm/worker_factory.py`).
        if let Some(role) = role.filter(|role| role.is_worker() && !role.has_kv_blocks()) {
            return Some(role.name().into());
        }
        if let Some(ClaimValue::Text(part)) = said.map(|stored| &stored.claim.value) {
            return Some(Arc::clone(part));
        }
        // A component's name need not tell that its pods compute one part of each request.
        if let Some(role @ (Role::Prefill | Role::Decode)) = role {
            return Some(role.name().into());
        }
        if let Some(part) = known.and_then(WorkerRecord::part) {
            return Some(part.name().into());
        }
        let component = known.and_then(|known| known.component.clone());
        let guess = known.and_then(WorkerRecord::part_by_costs);
        component.or_else(|| role.or(guess).map(|role| role.name().into()))
    }

    /// Returns false for claims about other deployments than the chosen one, and for those of a
    /// component whose pods speak for themselves.
    pub(super) fn speaks(&self, subject: &Subject) -> bool {
        let has_pods = |graph: &str, component: &str| {
            self.shown.cluster.pods().any(|record| {
                let pod = &record.pod;
                pod.graph.as_deref() == Some(graph) && pod.component.as_deref() == Some(component)
            })
        };
        self.is_chosen(subject)
            && match subject {
                Subject::Component { graph, component } => !has_pods(graph, component),
                Subject::Worker(_) | Subject::Pod(_) | Subject::Deployment => true,
            }
    }

    /// Returns the settings of routers and workers.
    pub(super) fn settings(&self, names: &WorkerNames) -> Settings {
        let kind = self.router_kind();
        let mut routers: Vec<Subject> = self
            .processes()
            .filter(|(role, subject)| role.is_router() && self.may_choose(subject, kind))
            .map(|(_, subject)| subject)
            .collect();
        routers.extend(self.unshown_routers());
        let of_router = |what| self.of_each(&routers, what, &[ClaimOf::Router]);
        // The credit took the weight's place with 1.2; an old name that is still set counts as well.
        let mut weights = decimals(of_router(ClaimWhat::OverlapCredit));
        weights.extend(decimals(of_router(ClaimWhat::OverlapWeight)));
        let (card_modes, only_card_modes) = self.card_modes(names);
        Settings {
            router_kind: kind,
            // Where another process chooses, the frontend's mode decides nothing.
            router_mode: (kind != RouterKind::OwnSize
                || routers.iter().any(|router| self.is_frontend(router)))
            .then(|| odd(self.modes(&of_router(ClaimWhat::RouterMode)), |mode| **mode != *"kv"))
            .flatten(),
            other_modes: self.other_modes(&of_router(ClaimWhat::RouterMode)),
            card_modes,
            only_card_modes,
            event_planes: texts(of_router(ClaimWhat::EventPlane)),
            publishing_planes: self.publishing_planes(names),
            overlap_weight: odd(weights, |weight| *weight <= 0.0),
            temperature: odd(decimals(of_router(ClaimWhat::RouterTemperature)), |heat| *heat > 0.0),
            predicting: predicting(&of_router(ClaimWhat::KvEvents)),
            kv_events: odd(flags(of_router(ClaimWhat::KvEvents)), |follows| !follows),
            replica_sync: odd(flags(of_router(ClaimWhat::ReplicaSync)), |shared| !shared),
            publishes: self.publishes(names),
            event_endpoints: self.event_endpoints(names),
            prefix_reuse: self.prefix_reuse(names),
            context_parallel: self.context_parallel(names),
            unreadable: self.unreadable(),
        }
    }

    /// Returns the routers that Kubernetes does not show, and whose logs name their mode.
    fn unshown_routers(&self) -> impl Iterator<Item = Subject> {
        let modes = self.fleet.claims.of_kind(ClaimWhat::RouterMode);
        let logged = modes.filter(|stored| {
            let claim = &stored.claim;
            claim.of == ClaimOf::Router && claim.basis == Basis::Observed
        });
        let subjects = logged.map(|stored| stored.claim.subject.clone());
        subjects.filter(|subject| match subject {
            Subject::Pod(pod) => self.shown.cluster.pod(pod).is_none() && self.speaks(subject),
            Subject::Worker(_) | Subject::Component { .. } | Subject::Deployment => false,
        })
    }

    /// Returns the pods of frontends that are set to another mode than kv, and were not seen to choose workers since
    /// they started. One that Kubernetes does not show, and whose log names its mode, is a frontend too.
    fn other_modes(&self, modes: &[&StoredClaim]) -> Vec<(Arc<str>, Setting<Arc<str>>)> {
        let other = modes.iter().filter_map(|stored| {
            let (Subject::Pod(pod), ClaimValue::Text(mode)) =
                (&stored.claim.subject, &stored.claim.value)
            else {
                return None;
            };
            let chose = self.routing.router.known(pod).and_then(|known| known.last_routed);
            let began = self.router_watch(pod).began.unwrap_or_default();
            let chooses = chose.is_some_and(|last| last >= began);
            let logs_alone = || self.shown.cluster.pod(pod).is_none();
            let frontend = self.is_frontend(&stored.claim.subject) || logs_alone();
            let other = **mode != *"kv" && !chooses && frontend;
            other.then(|| (Arc::clone(pod), self.mode(stored, mode)))
        });
        other.collect()
    }

    /// Returns the modes that routers were told or seen to have.
    fn modes(&self, modes: &[&StoredClaim]) -> Vec<Setting<Arc<str>>> {
        let modes = modes.iter().filter_map(|stored| match &stored.claim.value {
            ClaimValue::Text(mode) => Some(self.mode(stored, mode)),
            ClaimValue::Flag(_) | ClaimValue::Count(_) | ClaimValue::Millionths(_) => None,
        });
        modes.collect()
    }

    /// Returns the mode of one router. A log names it without what set it, which the pod's settings tell.
    fn mode(&self, stored: &StoredClaim, mode: &Arc<str>) -> Setting<Arc<str>> {
        let Claim { what, of, subject, value, .. } = &stored.claim;
        let mut told = self.fleet.claims.about(*what, *of, subject);
        let told = told.find(|other| other.claim.set_by.is_some() && other.claim.value == *value);
        let mut mode = with(stored, Arc::clone(mode));
        mode.set_by = mode.set_by.or_else(|| told?.claim.set_by.clone());
        mode
    }

    /// Returns the settings that pods of now may have where kvtop cannot read.
    fn unreadable(&self) -> Vec<Unreadable> {
        let shown = self
            .shown
            .cluster
            .pods()
            .filter(|it| self.speaks(&Subject::Pod(Arc::clone(&it.pod.name))));
        let all = shown.flat_map(|it| {
            it.pod.hidden.iter().map(|hidden| Unreadable {
                what: hidden.what,
                of: hidden.of,
                pod: Arc::clone(&it.pod.name),
                by: Arc::clone(&hidden.by),
            })
        });
        all.collect()
    }

    /// Returns the engines of worker pods, and of components that have no pods yet.
    pub(super) fn engines(&self) -> Vec<Backend> {
        let workers = self.processes().filter(|(role, _)| role.is_worker());
        let engine = |(_, subject)| match subject {
            Subject::Pod(pod) => self.shown.cluster.pod(&pod)?.pod.backend,
            Subject::Component { graph, component } => self.component(&graph, &component)?.backend,
            Subject::Worker(_) | Subject::Deployment => None,
        };
        workers.filter_map(engine).collect()
    }

    /// Returns the ready pods of the component that has most of those that route by cached blocks.
    pub(super) fn replicas(&self) -> Vec<Arc<str>> {
        let kind = self.router_kind();
        let ready = self.shown.cluster.pods().map(|record| &record.pod).filter(|pod| {
            let subject = Subject::Pod(Arc::clone(&pod.name));
            let mode = self.fleet.claims.best(
                ClaimWhat::RouterMode,
                &[ClaimOf::Router],
                std::slice::from_ref(&subject),
            );
            let by_blocks =
                mode.is_none_or(|stored| stored.claim.value == ClaimValue::Text("kv".into()));
            let routes = pod.role.is_router() && self.may_choose(&subject, kind) && by_blocks;
            routes && pod.ready && !pod.terminating && self.speaks(&subject)
        });
        self.most_of_a_component(ready.map(|pod| &pod.name))
    }

    /// Returns those of `pods` that are of one component, the one that has most of them: only these can share load.
    /// Pods that Kubernetes does not show count as one component.
    pub(super) fn most_of_a_component<'a>(
        &self,
        pods: impl Iterator<Item = &'a Arc<str>>,
    ) -> Vec<Arc<str>> {
        let mut groups: BTreeMap<_, Vec<Arc<str>>> = BTreeMap::new();
        for name in pods {
            let shown = self.shown.cluster.pod(name).map(|record| &record.pod);
            let component = shown.map(|pod| (&pod.namespace, &pod.graph, &pod.component));
            groups.entry(component).or_default().push(Arc::clone(name));
        }
        groups.into_values().max_by_key(Vec::len).unwrap_or_default()
    }

    /// Returns which kind of router chooses workers: of those that were seen to, or else of those that
    /// are there.
    fn router_kind(&self) -> RouterKind {
        let routing = self.routing.router.pods().filter(|(_, known)| known.routes);
        let seen: Vec<RouterKind> = routing.map(|(pod, _)| self.kind_of(pod)).collect();
        if let Some(first) = seen.first() {
            let same = seen.iter().all(|kind| kind == first);
            return if same { *first } else { RouterKind::Unknown };
        }
        let mut kind = RouterKind::Unknown;
        for (role, subject) in self.processes() {
            match role {
                Role::StandaloneRouter | Role::GatewayPlugin => return RouterKind::OwnSize,
                Role::Frontend if self.fleet.hashes_itself(&subject) => return RouterKind::OwnSize,
                Role::Frontend => kind = RouterKind::Frontend,
                Role::Worker
                | Role::Prefill
                | Role::Decode
                | Role::Encode
                | Role::Embedding
                | Role::Diffusion
                | Role::Planner
                | Role::Other => {}
            }
        }
        kind
    }

    /// A pod is what it runs; where Kubernetes does not show that, only frontends report the size that
    /// they adopted.
    fn kind_of(&self, pod: &Arc<str>) -> RouterKind {
        let shown = self.shown.cluster.pod(pod).map(|record| record.pod.role);
        match shown {
            Some(Role::Frontend) if self.fleet.hashes_itself(&Subject::Pod(Arc::clone(pod))) => {
                RouterKind::OwnSize
            }
            Some(Role::Frontend) => RouterKind::Frontend,
            Some(Role::StandaloneRouter | Role::GatewayPlugin) => RouterKind::OwnSize,
            Some(_) => RouterKind::Unknown,
            None => {
                let subject = [Subject::Pod(Arc::clone(pod))];
                let adopted =
                    self.fleet.claims.best(ClaimWhat::BlockSize, &[ClaimOf::Router], &subject);
                match adopted.filter(|stored| stored.claim.basis == Basis::Observed) {
                    Some(_) => RouterKind::Frontend,
                    None => RouterKind::Unknown,
                }
            }
        }
    }

    /// Returns false for processes that route, but not as those of `kind` that choose workers do.
    fn may_choose(&self, subject: &Subject, kind: RouterKind) -> bool {
        let role = match subject {
            Subject::Pod(pod) => self.shown.cluster.pod(pod).map(|record| record.pod.role),
            Subject::Component { graph, component } => {
                self.component(graph, component).map(|component| component.role)
            }
            Subject::Worker(_) | Subject::Deployment => None,
        };
        match (kind, role) {
            (RouterKind::OwnSize, Some(role)) => {
                role != Role::Frontend || self.fleet.hashes_itself(subject)
            }
            (RouterKind::Frontend, Some(role)) => role == Role::Frontend,
            (RouterKind::Unknown, _) | (_, None) => true,
        }
    }

    fn is_frontend(&self, subject: &Subject) -> bool {
        let mut processes = self.processes();
        processes.any(|(role, known)| role == Role::Frontend && known == *subject)
    }

    fn component(&self, graph: &str, component: &str) -> Option<&Component> {
        let graph = self.shown.cluster.graphs().find(|known| known.name.as_ref() == graph)?;
        graph.components.iter().find(|known| known.name.as_ref() == component)
    }

    /// Returns the pods there are, and the components that have none yet, with what they do.
    pub(super) fn processes(&self) -> impl Iterator<Item = (Role, Subject)> {
        let pods = self
            .shown
            .cluster
            .pods()
            .map(|record| (record.pod.role, Subject::Pod(Arc::clone(&record.pod.name))));
        let component = |graph: &Graph, component: &Component| Subject::Component {
            graph: Arc::clone(&graph.name),
            component: Arc::clone(&component.name),
        };
        let components = self.shown.cluster.graphs().flat_map(move |graph| {
            let components = graph.components.iter();
            components.map(move |known| (known.role, component(graph, known)))
        });
        pods.chain(components).filter(|(_, subject)| self.speaks(subject))
    }

    /// Returns for each subject the best claim about it.
    fn of_each<'a>(
        &'a self,
        subjects: &[Subject],
        what: ClaimWhat,
        of: &[ClaimOf],
    ) -> Vec<&'a StoredClaim> {
        let best = |subject| self.fleet.claims.best(what, of, std::slice::from_ref(subject));
        subjects.iter().filter_map(best).collect()
    }
}

impl Fleet {
    /// Returns true for frontends that hash requests with a size of their own, whatever the model card says.
    pub(super) fn hashes_itself(&self, subject: &Subject) -> bool {
        let mut own = self.claims.about(ClaimWhat::BlockSize, ClaimOf::Router, subject);
        own.any(|stored| stored.claim.basis < Basis::Observed)
    }
}

/// Returns how a setting is known.
fn ground(basis: Basis) -> Ground {
    match basis {
        Basis::Observed => Ground::Observed,
        Basis::Default => Ground::Default,
        Basis::Manifest => Ground::Manifest,
        Basis::File | Basis::Setting => Ground::Setting,
    }
}

/// Returns the first setting that is `wrong`, or else the first.
fn odd<T>(settings: Vec<Setting<T>>, wrong: impl Fn(&T) -> bool) -> Option<Setting<T>> {
    let at = settings.iter().position(|setting| wrong(&setting.value)).unwrap_or(0);
    settings.into_iter().nth(at)
}

pub(super) fn with<T>(stored: &StoredClaim, value: T) -> Setting<T> {
    Setting {
        value,
        ground: ground(stored.claim.basis),
        source: Arc::clone(&stored.claim.source),
        raw: Arc::clone(&stored.claim.raw),
        set_by: stored.claim.set_by.clone(),
        medium: stored.claim.medium,
        at: stored.first,
    }
}

pub(super) fn flag(stored: &StoredClaim) -> Option<Setting<bool>> {
    match stored.claim.value {
        ClaimValue::Flag(value) => Some(with(stored, value)),
        ClaimValue::Count(_) | ClaimValue::Text(_) | ClaimValue::Millionths(_) => None,
    }
}

fn flags(claims: Vec<&StoredClaim>) -> Vec<Setting<bool>> {
    claims.into_iter().filter_map(flag).collect()
}

/// Returns the pods whose routers follow no KV events, where other routers do.
fn predicting(claims: &[&StoredClaim]) -> Vec<Arc<str>> {
    let (follow, predict): (Vec<&StoredClaim>, Vec<&StoredClaim>) =
        claims.iter().partition(|stored| stored.claim.value == ClaimValue::Flag(true));
    if follow.is_empty() {
        return Vec::new();
    }
    let pods = predict.into_iter().filter_map(|stored| match &stored.claim.subject {
        Subject::Pod(pod) => Some(Arc::clone(pod)),
        Subject::Worker(_) | Subject::Component { .. } | Subject::Deployment => None,
    });
    pods.collect()
}

fn texts(claims: Vec<&StoredClaim>) -> Vec<Setting<Arc<str>>> {
    let text = |stored: &StoredClaim| match &stored.claim.value {
        ClaimValue::Text(value) => Some(with(stored, Arc::clone(value))),
        ClaimValue::Count(_) | ClaimValue::Flag(_) | ClaimValue::Millionths(_) => None,
    };
    claims.into_iter().filter_map(text).collect()
}

fn decimals(claims: Vec<&StoredClaim>) -> Vec<Setting<f64>> {
    let decimal = |stored: &StoredClaim| match stored.claim.value {
        ClaimValue::Millionths(value) => Some(with(stored, value as f64 / 1e6)),
        ClaimValue::Count(value) => Some(with(stored, value as f64)),
        ClaimValue::Text(_) | ClaimValue::Flag(_) => None,
    };
    claims.into_iter().filter_map(decimal).collect()
}
