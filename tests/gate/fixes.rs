//! The printed fix, applied to the objects it was made from, is a cure: the deployment whose pods then restart is
//! healthy.

use std::collections::BTreeMap;

use kvtop::frame::{Body, Frame};
use kvtop::snapshot::Snapshot;
use kvtop::tui::findings;
use serde_json::Value;

use super::play::{Moment, Played, named};
use crate::diagnosis::gate::apply::{Patch, patches};
use crate::support::played as seen_of;

type Objects = BTreeMap<(String, String), Value>;

/// Returns the graph deployments and `ConfigMap`s at the end of `frames`.
fn objects(frames: &[Frame]) -> Objects {
    let all = frames.iter().filter_map(named);
    let kept = all.filter(|(kind, ..)| is_patched(kind));
    kept.map(|(kind, name, object)| ((kind.to_string(), name), object)).collect()
}

fn is_patched(kind: &str) -> bool {
    kind == "DynamoGraphDeployment" || kind == "ConfigMap"
}

fn applied(patch: &Patch, objects: &mut Objects) -> Result<(), String> {
    let wanted = |(kind, name): &(String, String)| match &patch.config_map {
        Some(map) => kind == "ConfigMap" && name == map,
        None => kind == "DynamoGraphDeployment",
    };
    let object = objects.iter_mut().find(|(key, _)| wanted(key)).ok_or("no such object")?.1;
    patch.apply(object)?;
    match patch.apply(&mut object.clone()) {
        Ok(()) => Err("it can be applied twice".to_owned()),
        Err(_) => Ok(()),
    }
}

/// Applies the patches in the fix of the finding `id`, and judges the deployment as it is once its pods have
/// restarted. Returns what is wrong; none if there is nothing to apply.
pub(super) fn tried(
    played: &Played,
    moment: Moment,
    seen: &Snapshot,
    id: &str,
) -> Option<Vec<String>> {
    let finding = seen.findings.iter().find(|row| row.id == id)?;
    let commands = finding.fix.as_ref().and_then(|fix| fix.kubectl.as_deref());
    let commands = commands.filter(|text| text.contains(" patch "))?;
    let mut objects = objects(&played.attached(moment));
    for patch in patches(commands) {
        if let Err(why) = applied(&patch, &mut objects) {
            return Some(vec![format!("the fix of {id} cannot be applied: {why}: {commands}")]);
        }
    }
    let mut after = played.attached(Moment::After);
    for frame in &mut after {
        let key = named(frame).filter(|(kind, ..)| is_patched(kind));
        let patched = key.and_then(|(kind, name, _)| objects.get(&(kind.to_string(), name)));
        if let Some(object) = patched {
            frame.body = Body::Whole(object.to_string().into());
        }
    }
    let (_, then) = seen_of(&after);
    let loud = findings::open(&then).into_iter().filter(|row| row.counts());
    Some(loud.map(|row| format!("after the fix of {id}: {} {}", row.id, row.summary)).collect())
}
