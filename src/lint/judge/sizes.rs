//! Block sizes: KVT001 and KVT002.

use std::collections::BTreeMap;

use super::{Scene, raised};
use crate::diagnose::{self, Evidence, SizeClaim, Verdict};
use crate::domain::{Backend, ClaimOf, ClaimWhat, Role};
use crate::dynamo::{flag, variable};
use crate::lint::document::Node;
use crate::lint::manifest::{Config, Part};
use crate::lint::{Edit, Flaw, Unjudged, Verdicts};

impl Scene<'_, '_> {
    /// KVT001 and KVT002: the sizes of engines, publishers and routers. Afterwards `evidence` holds the
    /// corrected sizes, so that later checks agree with the fixes.
    pub(super) fn sizes(&self, evidence: &mut Evidence, found: &mut Verdicts) {
        self.unread(found);
        if !evidence.split_workers().is_empty() {
            self.split(evidence, found);
        }
        if let Some(finding) = raised("KVT001", evidence) {
            let mut flaw = self.flaw("KVT001", &finding);
            self.router_size(&mut flaw, evidence);
            found.flaws.push(flaw);
        }
        self.disagreement(evidence, found);
    }

    /// KVT001: publishers that differ from their engines.
    fn split(&self, evidence: &mut Evidence, found: &mut Verdicts) {
        let Some(finding) = raised("KVT001", evidence) else { return };
        let mut flaw = self.flaw("KVT001", &finding);
        let split = evidence.split_workers().into_iter();
        let split: Vec<_> = split.map(|(a, b)| (a.tokens, b.clone())).collect();
        for (publisher, engine) in &split {
            let Some(part) = self.worker(engine.worker) else { continue };
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Engine);
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Publisher);
            let apart = evidence.prefill_apart() == Some(true);
            let wanted = self.wanted_size(part, apart).unwrap_or(engine.tokens);
            flaw.edits.extend(self.set_size(part, wanted));
            let what = if wanted == engine.tokens {
                format!(
                    "Publish the engine's block size, {wanted}, or configure the engine with {publisher}."
                )
            } else {
                format!(
                    "Configure engine and publisher of {} with a block size of {wanted}.",
                    part.name
                )
            };
            flaw.fix = format!(
                "{what} Setting {kv_cache_block_size} on the frontend will not fix this.",
                kv_cache_block_size = variable::KV_CACHE_BLOCK_SIZE
            );
            let same = |claim: &&mut SizeClaim| claim.worker == engine.worker;
            evidence.sizes.iter_mut().filter(same).for_each(|claim| claim.tokens = wanted);
        }
        found.flaws.push(flaw);
    }

    /// KVT002: workers of one model that differ.
    fn disagreement(&self, evidence: &mut Evidence, found: &mut Verdicts) {
        let finding = match diagnose::rule("KVT002").map(|rule| rule.judge(evidence)) {
            Some(Verdict::Found(finding)) => finding,
            Some(Verdict::Unknown { missing }) if evidence.several_sizes().is_some() => {
                let deployment = self.deployment.name.clone();
                found.unjudged.push(Unjudged {
                    deployment,
                    id: "KVT002",
                    missing: missing.to_string(),
                });
                return;
            }
            Some(Verdict::Unknown { .. } | Verdict::Clear { .. }) | None => return,
        };
        let mut flaw = self.flaw("KVT002", &finding);
        let apart = evidence.prefill_apart() == Some(true);
        let wanted: Vec<_> = self
            .workers()
            .filter_map(|(worker, part)| {
                let mut claims = evidence.sizes_of(ClaimOf::Card);
                let tokens = claims.find(|claim| claim.worker == Some(worker))?.tokens;
                let wanted = self.wanted_size(part, apart)?;
                Some((part, wanted, tokens == wanted))
            })
            .collect();
        let odd = wanted.iter().filter(|(_, _, fits)| !fits);
        for (part, wanted, _) in odd.clone() {
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Card);
            let others = "like the other workers of its model";
            flaw.fix = format!("Configure {} with a block size of {wanted}, {others}.", part.name);
            flaw.edits.extend(self.set_size(part, *wanted));
        }
        // The others of the same models, for comparison.
        for (part, ..) in wanted.iter().filter(|(_, _, fits)| *fits) {
            if odd.clone().any(|(other, ..)| agree(other, part, apart)) {
                self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Card);
            }
        }
        found.flaws.push(flaw);
        // Later checks assume that the workers agree.
        for (worker, part) in self.workers() {
            let Some(wanted) = self.wanted_size(part, apart) else { continue };
            let its = |claim: &&mut SizeClaim| claim.worker == Some(worker);
            evidence.sizes.iter_mut().filter(its).for_each(|claim| claim.tokens = wanted);
        }
    }

    /// Reports engine configurations that were not given.
    fn unread(&self, found: &mut Verdicts) {
        for (_, part) in self.workers() {
            if let Some(path) = &part.unread {
                found.unjudged.push(Unjudged {
                    deployment: self.deployment.name.clone(),
                    id: "KVT001",
                    missing: format!("needs {path}, the engine configuration of {}", part.name),
                });
            }
        }
    }

    /// Returns the most common engine block size among workers that must agree with `like`; of several the smallest.
    fn wanted_size(&self, like: &Part<'_>, apart: bool) -> Option<u32> {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for (_, part) in self.workers().filter(|(_, part)| agree(part, like, apart)) {
            let size = |of| part.count(ClaimWhat::BlockSize, of);
            if let Some(size) = size(ClaimOf::Engine).or_else(|| size(ClaimOf::Publisher)) {
                *counts.entry(size).or_default() += 1;
            }
        }
        let most = counts.values().max().copied()?;
        counts.into_iter().find(|(_, count)| *count == most).map(|(size, _)| size)
    }

    /// Adds the correction of a router that hashes with its own block size.
    fn router_size(&self, flaw: &mut Flaw, evidence: &Evidence) {
        let Some(worker) = evidence.worker_size() else { return };
        for claim in evidence.sizes_of(ClaimOf::Router).filter(|c| c.tokens != worker.tokens) {
            let Some(part) = self.named(claim.pod.as_ref()) else { continue };
            let of = if part.role == Role::Frontend { ClaimOf::Declared } else { ClaimOf::Router };
            self.spot(flaw, part, ClaimWhat::BlockSize, of);
            let tokens = worker.tokens.to_string();
            let (name, edit) = match part.role {
                Role::Frontend => {
                    (variable::KV_CACHE_BLOCK_SIZE, self.set_declared(part, worker.tokens))
                }
                Role::StandaloneRouter => {
                    let old = part.version().is_some_and(|version| version < (1, 0));
                    let flags: &[&str] = if old {
                        &[flag::BLOCK_SIZE]
                    } else {
                        &[flag::ROUTER_BLOCK_SIZE, flag::BLOCK_SIZE]
                    };
                    let name = flags.first().copied().unwrap_or_default();
                    let by_env = part.variable(variable::ROUTER_BLOCK_SIZE).is_some();
                    if by_env && !old {
                        let name = variable::ROUTER_BLOCK_SIZE;
                        (name, self.text.set_env(part, name, &tokens))
                    } else {
                        (name, self.text.set_flag(part, flags, Some(&tokens)))
                    }
                }
                _ => {
                    let old = part.variable(variable::OLD_KV_BLOCK_SIZE).is_some();
                    let name =
                        if old { variable::OLD_KV_BLOCK_SIZE } else { variable::KV_BLOCK_SIZE };
                    (name, self.text.set_env(part, name, &tokens))
                }
            };
            flaw.component = part.name.to_string();
            flaw.fix = format!(
                "On {}, set {name} to {tokens}, the block size that workers publish.",
                part.name
            );
            flaw.edits.extend(edit);
        }
        if let Some(part) = self.worker(worker.worker) {
            self.spot(flaw, part, ClaimWhat::BlockSize, worker.of);
        }
    }

    /// Sets the block size of a worker's engine and publisher.
    fn set_size(&self, part: &Part<'_>, tokens: u32) -> Vec<Edit> {
        let value = tokens.to_string();
        let flags: &[&str] = match part.backend {
            Some(Backend::TrtLlm) => return self.set_trtllm_size(part, tokens),
            Some(Backend::SgLang) => &[flag::PAGE_SIZE],
            Some(Backend::Vllm | Backend::Mocker) => &[flag::BLOCK_SIZE],
            None => return Vec::new(),
        };
        self.text.set_flag(part, flags, Some(&value)).into_iter().collect()
    }

    fn set_trtllm_size(&self, part: &Part<'_>, tokens: u32) -> Vec<Edit> {
        let value = tokens.to_string();
        let differs = |of| part.count(ClaimWhat::BlockSize, of).is_some_and(|size| size != tokens);
        let mut edits = Vec::new();
        if differs(ClaimOf::Engine) {
            let size = (ClaimWhat::BlockSize, "tokens_per_block");
            edits.extend(self.set_engine(part, size, &value));
        }
        // From 1.4 on the publisher follows the engine.
        if differs(ClaimOf::Publisher) && part.version().is_none_or(|version| version < (1, 4)) {
            let (name, flag) = (variable::TRTLLM_KV_BLOCK_SIZE, flag::KV_BLOCK_SIZE);
            edits.extend(if part.variable(name).is_some() {
                self.set(part, flag, name, &value)
            } else {
                self.text.set_flag(part, &[flag], Some(&value))
            });
        }
        edits
    }

    /// Changes a setting of TensorRT-LLM's `kv_cache_config` where it is set, or overrides its default.
    pub(super) fn set_engine(
        &self,
        part: &Part<'_>,
        (what, name): (ClaimWhat, &str),
        value: &str,
    ) -> Option<Edit> {
        let path = format!("kv_cache_config.{name}");
        let claim = part.claims.get(&(what, ClaimOf::Engine))?;
        if let Some(config) = part.config_of(claim)
            && let Some(edit) = self.text.set_config(config, &path, value)
        {
            return Some(edit);
        }
        let flag = flag::OVERRIDE_ENGINE_ARGS;
        if self.text.flag(part, &[flag]).is_none() {
            let json = format!(r#"{{"kv_cache_config":{{"{name}":{value}}}}}"#);
            return self.text.set_flag(part, &[flag], Some(&json));
        }
        let holds = |word: &&Node| word.text().is_some_and(|text| text.contains(name));
        let node = part.words().into_iter().find(holds)?;
        if let Some(edit) = self.text.set_config(Config { file: part.file, node }, &path, value) {
            return Some(edit);
        }
        // In a quoted text no place can be named; it is written anew.
        let mut json: serde_json::Value = serde_json::from_str(node.text()?).ok()?;
        *json.pointer_mut(&format!("/kv_cache_config/{name}"))? =
            serde_json::from_str(value).ok()?;
        self.text.set_flag(part, &[flag], Some(&json.to_string()))
    }
}

/// Returns true for workers that must use one size: of the same model and, if prefill is `apart`, the same part.
fn agree(one: &Part<'_>, other: &Part<'_>, apart: bool) -> bool {
    let is_prefill = |part: &Part<'_>| part.role == Role::Prefill;
    one.model() == other.model() && (!apart || is_prefill(one) == is_prefill(other))
}
