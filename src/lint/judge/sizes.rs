//! Block sizes: KVT001 and KVT002.

use std::collections::BTreeMap;

use super::{Scene, raised};
use crate::diagnose::{self, Evidence, SizeClaim, Verdict};
use crate::domain::{Backend, ClaimOf, ClaimWhat, Role};
use crate::dynamo::{engine, flag, variable};
use crate::lint::document::Node;
use crate::lint::manifest::{Config, Part};
use crate::lint::{Edit, Flaw, Unjudged, Verdicts};

/// The parts of a worker that have a block size.
const SIZES: [ClaimOf; 3] = [ClaimOf::Engine, ClaimOf::Publisher, ClaimOf::Card];

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
        self.unset(evidence, found);
    }

    /// Reports workers whose block size is unknown, where somebody set a size that must be the same.
    fn unset(&self, evidence: &Evidence, found: &mut Verdicts) {
        let by_router = evidence.sizes_of(ClaimOf::Router).next().is_some();
        let apart = evidence.prefill_apart() == Some(true);
        let is_set = |part: &Part<'_>| {
            SIZES.into_iter().any(|of| part.count(ClaimWhat::BlockSize, of).is_some())
        };
        for (_, part) in self.workers().filter(|(_, part)| has_no_size(part)) {
            let mut others = self.workers().filter(|(_, other)| agree(part, other, apart));
            let id = match (by_router, others.any(|(_, other)| is_set(other))) {
                (true, _) => "KVT001",
                (false, true) => "KVT002",
                (false, false) => continue,
            };
            let missing = format!(
                "needs the block size of {} (no given argument or configuration sets one, and its default depends on \
                 release and model)",
                part.name
            );
            let deployment = self.deployment.name.clone();
            found.unjudged.push(Unjudged { deployment, id, missing });
        }
    }

    /// KVT001: publishers that differ from their engines.
    fn split(&self, evidence: &mut Evidence, found: &mut Verdicts) {
        let Some(finding) = raised("KVT001", evidence) else { return };
        let mut flaw = self.flaw("KVT001", &finding);
        let split = evidence.split_workers().into_iter();
        let split: Vec<_> = split.map(|(a, b)| (a.tokens, b.clone())).collect();
        let mut fixes = Fixes::default();
        for (publisher, engine) in &split {
            let Some(part) = self.worker(engine.worker) else { continue };
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Engine);
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Publisher);
            let apart = evidence.prefill_apart() == Some(true);
            let wanted = self.wanted_size(part, apart).unwrap_or(engine.tokens);
            flaw.edits.extend(self.set_size(part, wanted));
            let fix = if wanted == engine.tokens {
                format!(
                    "Publish the engine's block size, {wanted}, or configure the engine with {publisher}."
                )
            } else {
                format!("Configure engine and publisher with a block size of {wanted}.")
            };
            fixes.add(part, fix);
            let same = |claim: &&mut SizeClaim| claim.worker == engine.worker;
            evidence.sizes.iter_mut().filter(same).for_each(|claim| claim.tokens = wanted);
        }
        flaw.fix = format!(
            "{} Setting {} on the frontend will not fix this.",
            fixes.in_words(),
            variable::KV_CACHE_BLOCK_SIZE
        );
        found.flaws.push(flaw);
    }

    /// KVT002: workers of one model that differ.
    fn disagreement(&self, evidence: &mut Evidence, found: &mut Verdicts) {
        let finding = match diagnose::rule("KVT002").map(|rule| rule.judge(evidence)) {
            Some(Verdict::Found(finding)) => finding,
            Some(Verdict::Unknown { missing, .. }) if evidence.several_sizes().is_some() => {
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
        let mut fixes: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
        for (part, wanted, _) in odd.clone() {
            self.spot(&mut flaw, part, ClaimWhat::BlockSize, ClaimOf::Card);
            fixes.entry(*wanted).or_default().push(&part.name);
            flaw.edits.extend(self.set_size(part, *wanted));
        }
        let fix = |(size, names): (&u32, &Vec<&str>)| {
            let their = if names.len() == 1 { "its" } else { "their" };
            let names = listed(names);
            format!(
                "Configure {names} with a block size of {size}, like the other workers of {their} model."
            )
        };
        flaw.fix = fixes.iter().map(fix).collect::<Vec<_>>().join(" ");
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

    /// Returns the block size of most replicas among workers that must agree with `like`; of several the smallest.
    /// Workers that publish another size than their engine's change in any case, and count only among themselves.
    fn wanted_size(&self, like: &Part<'_>, apart: bool) -> Option<u32> {
        let mut counts: BTreeMap<(bool, u32), u64> = BTreeMap::new();
        for (_, part) in self.workers().filter(|(_, part)| agree(part, like, apart)) {
            let [engine, publisher] = [ClaimOf::Engine, ClaimOf::Publisher]
                .map(|of| part.count(ClaimWhat::BlockSize, of));
            let is_whole = engine.zip(publisher).is_none_or(|(engine, its)| engine == its);
            if let Some(size) = engine.or(publisher) {
                *counts.entry((is_whole, size)).or_default() += part.replicas.max(1);
            }
        }
        let is_whole = counts.keys().any(|(is_whole, _)| *is_whole);
        counts.retain(|(its, _), _| *its == is_whole);
        let most = counts.values().max().copied()?;
        counts.into_iter().find(|(_, count)| *count == most).map(|((_, size), _)| size)
    }

    /// Adds the correction of a router that hashes with its own block size.
    fn router_size(&self, flaw: &mut Flaw, evidence: &Evidence) {
        let Some(worker) = evidence.worker_size() else { return };
        let mut fixes: Vec<String> = Vec::new();
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
            if flaw.component.is_empty() {
                flaw.component = part.name.to_string();
            }
            let part = &part.name;
            fixes.push(format!(
                "On {part}, set {name} to {tokens}, the block size that workers publish."
            ));
            flaw.edits.extend(edit);
        }
        if !fixes.is_empty() {
            flaw.fix = fixes.join(" ");
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
        // Such flags and the JSON exclude each other.
        let of_keys =
            |word: &&Node| word.text().is_some_and(|text| text.contains(engine::TRTLLM_KEY_FLAGS));
        if part.words().iter().any(of_keys) {
            return self.text.set_flag(part, &[engine::flag_of_key(&path)?], Some(value));
        }
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

/// Returns true for a worker whose block size nothing sets, and whose release or engine has no fixed default.
pub(super) fn has_no_size(part: &Part<'_>) -> bool {
    let is_known = |of| {
        part.claims.contains_key(&(ClaimWhat::BlockSize, of))
            || part.hides(ClaimWhat::BlockSize, of).is_some()
    };
    !SIZES.into_iter().any(is_known) && part.unread.is_none() && !part.words().is_empty()
}

/// Fixes in words, each with the parts that it is for.
#[derive(Default)]
struct Fixes<'a>(Vec<(String, Vec<&'a str>)>);

impl<'a> Fixes<'a> {
    fn add(&mut self, part: &'a Part<'_>, fix: String) {
        match self.0.iter_mut().find(|(known, _)| *known == fix) {
            Some((_, names)) => names.push(&part.name),
            None => self.0.push((fix, vec![&part.name])),
        }
    }

    /// Returns the sentences, with names where they are for several parts.
    fn in_words(&self) -> String {
        let named = self.0.iter().map(|(_, names)| names.len()).sum::<usize>() > 1;
        let one = |(fix, names): &(String, Vec<&str>)| {
            if named { format!("{}: {fix}", listed(names)) } else { fix.clone() }
        };
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

/// Returns names as a list in words.
fn listed(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

/// Returns true for workers that must use one size: of the same model and, if prefill is `apart`, the same part.
fn agree(one: &Part<'_>, other: &Part<'_>, apart: bool) -> bool {
    let is_prefill = |part: &Part<'_>| part.role == Role::Prefill;
    one.model() == other.model() && (!apart || is_prefill(one) == is_prefill(other))
}
