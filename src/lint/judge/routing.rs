//! Settings of routers and engines: KVT005, KVT006, KVT013 and KVT017.

use super::{Scene, decimal, flag, raised, text_of};
use std::sync::Arc;

use crate::diagnose::{Evidence, Finding, OfWorker};
use crate::domain::{Backend, Claim, ClaimOf, ClaimValue, ClaimWhat, Role, SetBy};
use crate::dynamo::router::{KV, MODES};
use crate::dynamo::{flag, variable};
use crate::lint::checks;
use crate::lint::manifest::Part;
use crate::lint::plan::{Plan, asks_for_kv, means_kv};
use crate::lint::{Edit, Flaw, Verdicts};

impl Scene<'_, '_> {
    /// KVT005, KVT006 and KVT013: router settings, each frontend separately.
    pub(super) fn routing(&self, evidence: &Evidence, plan: &Plan, found: &mut Verdicts) {
        for part in self.routers() {
            let set = |what: ClaimWhat| part.claims.get(&(what, ClaimOf::Router));
            let is_frontend = part.role == Role::Frontend;
            let mode = set(ClaimWhat::RouterMode).filter(|_| plan.needs_mode(part));
            let mode = mode.and_then(text_of);
            let other = mode
                .as_ref()
                .is_some_and(|mode| mode.value.as_ref() != "kv" && !means_kv(&mode.value));
            let mut one = evidence.clone();
            // An unknown mode is reported as KVT104.
            one.settings.router_mode = mode.filter(|mode| MODES.contains(&mode.value.as_ref()));
            if let Some(finding) = raised("KVT005", &one).filter(|_| is_frontend) {
                found.flaws.push(self.other_mode(part, &finding));
                // With that mode the other settings are read too.
            } else if other || (is_frontend && !Plan::routes(part)) {
                continue;
            }
            if plan.replaces(part) {
                continue;
            }
            self.weights(part, evidence, found);
            let mut one = evidence.clone();
            one.settings.kv_events = set(ClaimWhat::KvEvents).and_then(flag);
            if let Some(finding) = raised("KVT006", &one) {
                let mut flaw = self.flaw("KVT006", &finding);
                self.spot(&mut flaw, part, ClaimWhat::KvEvents, ClaimOf::Router);
                flaw.fix = "Make the router follow KV events and the workers publish them.".into();
                flaw.edits.extend(self.follow_events(part));
                // A router that follows events which nobody publishes knows of no cached block.
                flaw.edits.extend(checks::publishing(self));
                found.flaws.push(flaw);
            }
        }
        self.of_cards(evidence, found);
        self.replicas(evidence, found);
    }

    /// KVT005 alone: frontends that were told to route in another way, and have settings of KV-aware routing all the
    /// same. Whatever else such routing needs is not missed yet.
    pub(super) fn declined(&self, plan: &Plan, found: &mut Verdicts) {
        let evidence = self.evidence(plan);
        for part in self.frontends().filter(|part| asks_for_kv(part)) {
            let mode = part.claims.get(&(ClaimWhat::RouterMode, ClaimOf::Router));
            let mode = mode.and_then(text_of);
            let mut one = evidence.clone();
            one.settings.router_mode = mode.filter(|mode| MODES.contains(&mode.value.as_ref()));
            let Some(finding) = raised("KVT005", &one) else { continue };
            let mut flaw = self.other_mode(part, &finding);
            flaw.fix.push_str(" With that mode, lint again: the rest is judged only then.");
            found.flaws.push(flaw);
            self.weights(part, &evidence, found);
        }
    }

    /// KVT005 of a frontend in another mode.
    fn other_mode(&self, part: &Part<'_>, finding: &Finding) -> Flaw {
        let mut flaw = self.flaw("KVT005", finding);
        self.spot(&mut flaw, part, ClaimWhat::RouterMode, ClaimOf::Router);
        flaw.fix = format!(
            "Set {}=kv on the frontend, or remove the KV routing settings.",
            variable::ROUTER_MODE
        );
        flaw.edits.extend(self.set(part, flag::ROUTER_MODE, variable::ROUTER_MODE, KV));
        flaw
    }

    /// KVT005 once more: workers whose model card asks for another mode, which overrides the frontend's.
    fn of_cards(&self, evidence: &Evidence, found: &mut Verdicts) {
        let modes = self.workers().filter_map(|(worker, part)| {
            let set = text_of(self.own_mode(part)?)?;
            Some((part, OfWorker { worker: Some(worker), who: Arc::clone(&part.name), set }))
        });
        let (parts, modes): (Vec<_>, Vec<_>) = modes.unzip();
        let mut one = evidence.clone();
        one.settings.card_modes = modes;
        let Some(finding) = raised("KVT005", &one) else { return };
        let mut flaw = self.flaw("KVT005", &finding);
        for part in parts {
            let Some(claim) = self.own_mode(part) else { continue };
            if claim.value == ClaimValue::Text(KV.into()) {
                continue;
            }
            self.spot(&mut flaw, part, ClaimWhat::RouterMode, ClaimOf::Card);
            flaw.edits.extend(self.change(part, claim, KV));
        }
        found.flaws.push(flaw);
    }

    /// KVT005 again: weight and temperature.
    fn weights(&self, part: &Part<'_>, evidence: &Evidence, found: &mut Verdicts) {
        for what in
            [ClaimWhat::OverlapWeight, ClaimWhat::OverlapCredit, ClaimWhat::RouterTemperature]
        {
            let Some(claim) = part.claims.get(&(what, ClaimOf::Router)) else { continue };
            let mut one = evidence.clone();
            let (target, fix) = match what {
                ClaimWhat::RouterTemperature => {
                    one.settings.temperature = decimal(claim);
                    ("0.0", "Set the temperature to 0, unless the randomness is intended.")
                }
                ClaimWhat::OverlapCredit => {
                    one.settings.overlap_weight = decimal(claim);
                    ("1.0", "Set the overlap credit to its default, 1.")
                }
                _ => {
                    one.settings.overlap_weight = decimal(claim);
                    ("1.0", "Set the overlap weight to its default, 1.")
                }
            };
            let Some(finding) = raised("KVT005", &one) else { continue };
            let mut flaw = self.flaw("KVT005", &finding);
            self.spot(&mut flaw, part, what, ClaimOf::Router);
            flaw.fix = fix.into();
            flaw.edits.extend(self.change(part, claim, target));
            found.flaws.push(flaw);
        }
    }

    /// KVT013: several frontends without replica sync.
    fn replicas(&self, evidence: &Evidence, found: &mut Verdicts) {
        let routing: Vec<&Part<'_>> = self.routers().filter(|part| Plan::routes(part)).collect();
        let mut one = evidence.clone();
        for part in &routing {
            let names = (0..part.replicas.min(64)).map(|n| format!("{}-{n}", part.name).into());
            one.router.pods.extend(names);
        }
        one.sizes.retain(|claim| claim.of != ClaimOf::Router);
        let off = routing.iter().find_map(|part| {
            let claim = part.claims.get(&(ClaimWhat::ReplicaSync, ClaimOf::Router))?;
            Some((*part, flag(claim)?)).filter(|(_, set)| !set.value)
        });
        let Some((part, set)) = off else { return };
        one.settings.replica_sync = Some(set);
        let Some(finding) = raised("KVT013", &one) else { return };
        let mut flaw = self.flaw("KVT013", &finding);
        self.spot(&mut flaw, part, ClaimWhat::ReplicaSync, ClaimOf::Router);
        let old = part.version().is_some_and(|version| version < (1, 0));
        for part in &routing {
            // The flag that denies it wins over the variable.
            if self.text.flag(part, &[flag::NO_ROUTER_REPLICA_SYNC]).is_some() {
                let (no, yes) = (flag::NO_ROUTER_REPLICA_SYNC, flag::ROUTER_REPLICA_SYNC);
                flaw.edits.extend(self.text.replace_flag(part, no, Some(yes)));
                continue;
            }
            let sync = [flag::ROUTER_REPLICA_SYNC];
            flaw.edits.extend(if old {
                self.text.set_flag(part, &sync, None)
            } else {
                self.text.set_env(part, variable::ROUTER_REPLICA_SYNC, "true")
            });
        }
        if old {
            flaw.fix = format!(
                "Start the frontends with {}; 0.9 has no variable for this.",
                flag::ROUTER_REPLICA_SYNC
            );
        }
        found.flaws.push(flaw);
    }

    /// KVT017: engines without prefix caching.
    pub(super) fn reuse(&self, evidence: &Evidence, found: &mut Verdicts) {
        let Some(finding) = raised("KVT017", evidence) else { return };
        let mut flaw = self.flaw("KVT017", &finding);
        // Workers that only decode have no use for it.
        for (_, part) in self.workers().filter(|(_, part)| self.computes_prompts(part)) {
            let claim = part.claims.get(&(ClaimWhat::PrefixReuse, ClaimOf::Engine));
            if claim.is_none_or(|claim| claim.value != ClaimValue::Flag(false)) {
                continue;
            }
            self.spot(&mut flaw, part, ClaimWhat::PrefixReuse, ClaimOf::Engine);
            flaw.edits.extend(match part.backend {
                Some(Backend::TrtLlm) => {
                    let reuse = (ClaimWhat::PrefixReuse, "enable_block_reuse");
                    self.set_engine(part, reuse, "true")
                }
                Some(Backend::SgLang) => {
                    self.text.replace_flag(part, flag::DISABLE_RADIX_CACHE, None)
                }
                _ => {
                    let on = flag::ENABLE_PREFIX_CACHING;
                    self.text.replace_flag(part, flag::NO_ENABLE_PREFIX_CACHING, Some(on))
                }
            });
        }
        flaw.fix =
            "Enable prefix caching: without it there are no cached blocks to route to.".into();
        found.flaws.push(flaw);
    }

    /// Sets a value by the flag or the variable, whichever the part uses.
    pub(super) fn set(&self, part: &Part<'_>, flag: &str, name: &str, value: &str) -> Option<Edit> {
        if self.text.flag(part, &[flag]).is_some() {
            return self.text.set_flag(part, &[flag], Some(value));
        }
        self.text.set_env(part, name, value)
    }

    /// Changes a setting in the place where it was made.
    pub(in crate::lint) fn change(
        &self,
        part: &Part<'_>,
        claim: &Claim,
        value: &str,
    ) -> Option<Edit> {
        match claim.set_by.as_ref()? {
            SetBy::Variable { name, .. } => self.text.set_env(part, name, value),
            SetBy::Flag(name) => self.text.set_flag(part, &[name], Some(value)),
        }
    }

    fn follow_events(&self, part: &Part<'_>) -> Option<Edit> {
        for (off, on) in [
            (flag::NO_KV_EVENTS, flag::KV_EVENTS),
            (flag::NO_ROUTER_KV_EVENTS, flag::ROUTER_KV_EVENTS),
        ] {
            if self.text.flag(part, &[off]).is_some() {
                return self.text.replace_flag(part, off, Some(on));
            }
        }
        let claim = part.claims.get(&(ClaimWhat::KvEvents, ClaimOf::Router))?;
        self.change(part, claim, "true")
    }
}
