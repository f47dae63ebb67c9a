//! Values that Dynamo does not know (KVT104).

use crate::domain::{Claim, ClaimValue, ClaimWhat, Role, SetBy, Severity};
use crate::dynamo::router::{MODES, ROUND_ROBIN};
use crate::dynamo::variable;
use crate::lint::Flaw;
use crate::lint::edit::holds_token;
use crate::lint::judge::Scene;
use crate::lint::manifest::Part;
use crate::lint::plan::means_kv;

use super::NOT_KNOWN;
use crate::lint::judge::PLANES;

/// KVT104: checks values in any deployment, with KV-aware routing or without.
pub(in crate::lint) fn unknown_values(scene: &Scene<'_, '_>, found: &mut Vec<Flaw>) {
    let parts = scene.deployment.parts.iter();
    for part in parts.filter(|part| part.role.is_router() || part.role.is_worker()) {
        let mut told: Vec<&str> = Vec::new();
        for ((what, of), claim) in &part.claims {
            let value = match &claim.value {
                ClaimValue::Text(value) => value.to_string(),
                ClaimValue::Count(size) if *what == ClaimWhat::BlockSize => size.to_string(),
                ClaimValue::Millionths(credit) if *what == ClaimWhat::OverlapCredit => {
                    (*credit as f64 / 1e6).to_string()
                }
                _ => continue,
            };
            let value = value.as_str();
            let holds_json = *what == ClaimWhat::PublishesEvents;
            let is_template =
                value.contains(['$', '`']) || value.contains(if holds_json { "{{" } else { "{" });
            // A worker's size has one claim each of engine, publisher and card.
            if told.contains(&claim.raw.as_ref()) || is_template {
                continue;
            }
            let Some(wrong) = wrong(part, *what, claim, value) else { continue };
            told.push(&claim.raw);
            let mut flaw = Flaw {
                name: NOT_KNOWN.name,
                summary: if holds_json || !is_shown(*what, value) {
                    format!("{}: the value is {}.", label(claim), wrong.is)
                } else {
                    format!("{}: \"{value}\" is {}.", label(claim), wrong.is)
                },
                effect: wrong.effect.to_owned(),
                fix: wrong.fix,
                ..scene.blank(NOT_KNOWN.id)
            };
            scene.spot(&mut flaw, part, *what, *of);
            if !holds_json && !is_shown(*what, value) {
                flaw.spots.iter_mut().for_each(|spot| label(claim).clone_into(&mut spot.what));
            }
            if wrong.is_note {
                flaw.severity = Severity::Info;
            }
            let better = wrong.better.and_then(|better| scene.change(part, claim, &better));
            flaw.edits.extend(better);
            found.push(flaw);
        }
    }
}

/// Returns true for a value that is no secret by its form: a number with a slip in it, or a short word.
fn is_shown(what: ClaimWhat, value: &str) -> bool {
    const LONGEST: usize = 24;
    let word = value.len() <= LONGEST
        && value.chars().all(|l| l.is_ascii_alphanumeric() || " _-.,+".contains(l));
    let digits = value.chars().filter(char::is_ascii_digit).count();
    let letters = value.chars().filter(char::is_ascii_alphabetic).count();
    // Modes and booleans are words; numbers with a unit or in hexadecimal have few letters.
    let plain =
        if what == ClaimWhat::RouterMode { digits == 0 } else { digits == 0 || letters <= 4 };
    word && plain && !holds_token(value)
}

/// From this release on a frontend with an unknown router mode does not start (1.5.1
/// `common/configuration/groups/router_args.py:420`; 0.9.0 `frontend/main.py:399` takes it for round-robin).
const MODES_ARE_CHECKED: (u32, u32) = (1, 5);

/// The largest block, in tokens, that is taken for one.
const LARGEST: i64 = 1 << 20;

/// A wrong value.
struct Wrong {
    /// The fault, such as "not a number".
    is: &'static str,
    /// Dynamo's reaction to the value.
    effect: &'static str,
    /// The fix.
    fix: String,
    /// The value that was obviously intended.
    better: Option<String>,
    /// True where the process does what was intended all the same.
    is_note: bool,
}

fn label(claim: &Claim) -> &str {
    claim.set_by.as_ref().map_or(&claim.source, SetBy::name)
}

fn wrong(part: &Part<'_>, what: ClaimWhat, claim: &Claim, value: &str) -> Option<Wrong> {
    let is_flag = claim.set_by.as_ref().and_then(SetBy::flag).is_some();
    match what {
        ClaimWhat::RouterMode => mode(part, is_flag, value),
        ClaimWhat::BlockSize => {
            // Python takes signs, grouped digits and spaces around them.
            let value = value.trim();
            let read = value.replace('_', "").parse::<i64>();
            if read.as_ref().is_ok_and(|size| !(1..=LARGEST).contains(size)) {
                return Some(Wrong {
                    is: "not the size of a block",
                    effect: "A block size must be between 1 and 1,048,576 tokens.",
                    fix: "Use the block size of the workers' engine.".to_owned(),
                    better: None,
                    is_note: false,
                });
            }
            let read = read.is_ok();
            let hex = value.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
            let better = hex.map(|size| size.to_string());
            (!read).then(|| number(part, "not a whole number", better))
        }
        ClaimWhat::OverlapWeight | ClaimWhat::OverlapCredit | ClaimWhat::RouterTemperature => {
            decimal(part, what, value.trim())
        }
        ClaimWhat::KvEvents | ClaimWhat::ReplicaSync => Some(Wrong {
            is: "not a boolean value",
            effect: match part.version() {
                _ if is_flag => "The frontend does not start.",
                Some(version) if version < (1, 0) => "The effect in this version is unknown.",
                Some(_) => "The value counts as false.",
                None => "From Dynamo 1.0 the value counts as false.",
            },
            fix: "Use true or false.".to_owned(),
            better: None,
            is_note: false,
        }),
        ClaimWhat::EventPlane => event_plane(part, value),
        ClaimWhat::PublishesEvents if is_flag => Some(Wrong {
            is: "not JSON",
            effect: "The engine does not start.",
            fix: "Use a JSON object.".to_owned(),
            better: None,
            is_note: false,
        }),
        _ => None,
    }
}

/// Returns the fault of a decimal. A credit must be between 0 and 1 (dynamo-kv-router 1.2 to 1.6, `scheduling/config.rs`).
fn decimal(part: &Part<'_>, what: ClaimWhat, value: &str) -> Option<Wrong> {
    let read = |value: &str| value.replace('_', "").parse::<f64>().ok();
    let Some(number_read) = read(value) else {
        let better = Some(value.replace(',', ".")).filter(|better| read(better).is_some());
        return Some(number(part, "not a number", better));
    };
    let outside = what == ClaimWhat::OverlapCredit && !(0.0..=1.0).contains(&number_read);
    outside.then(|| Wrong {
        is: "not between 0 and 1",
        effect: "The process does not start.",
        fix: format!(
            "Use at most 1, or set {} to {value} to weigh prefill above decoding.",
            variable::ROUTER_PREFILL_LOAD_SCALE
        ),
        better: None,
        is_note: false,
    })
}

/// Returns the fault of a router mode that Dynamo does not know.
fn mode(part: &Part<'_>, is_flag: bool, value: &str) -> Option<Wrong> {
    let known = MODES.contains(&value);
    let hyphenated = value.trim().replace('_', "-");
    let hyphenated = MODES.contains(&hyphenated.as_str()).then_some(hyphenated);
    let better = if means_kv(value) { Some("kv".to_owned()) } else { hyphenated };
    let starts = !is_flag && part.version().is_none_or(|it| it < MODES_ARE_CHECKED);
    let fix = match &better {
        Some(better) => format!("Use {better}."),
        None => format!("Use one of {}.", MODES.join(", ")),
    };
    (!known).then_some(Wrong {
        is: "not a Dynamo router mode",
        effect: if starts {
            "The frontend silently routes by round-robin, not by cached blocks."
        } else {
            "The frontend does not start."
        },
        // It does what was meant all the same.
        is_note: starts && better.as_deref() == Some(ROUND_ROBIN),
        fix,
        better,
    })
}

/// From this release on a process with an unknown event plane does not start (1.5, `lib/bindings/python/rust/lib.rs:386`; up to
/// 1.1 it warns and takes NATS).
const PLANES_ARE_CHECKED: (u32, u32) = (1, 2);

/// Returns the fault of an event plane that Dynamo does not know.
fn event_plane(part: &Part<'_>, value: &str) -> Option<Wrong> {
    if PLANES.contains(&value) || value.is_empty() {
        return None;
    }
    let better = value.trim().to_ascii_lowercase();
    let better = PLANES.contains(&better.as_str()).then_some(better);
    Some(Wrong {
        is: "not an event plane of Dynamo",
        effect: match part.version() {
            Some(version) if version < PLANES_ARE_CHECKED => "The process takes NATS.",
            Some(_) => "The process does not start.",
            None => "From Dynamo 1.2 on the process does not start.",
        },
        fix: format!("Use {}.", better.as_deref().unwrap_or("nats or zmq")),
        better,
        is_note: false,
    })
}

/// Returns the fault of a value that should be a number. Dynamo's Python processes reject it at start; gateway
/// plugins differ.
fn number(part: &Part<'_>, is: &'static str, better: Option<String>) -> Wrong {
    Wrong {
        is,
        effect: if part.role == Role::GatewayPlugin {
            "The plugin cannot read the value."
        } else {
            "The process does not start."
        },
        fix: match &better {
            Some(better) => format!("Use {better}."),
            None => "Use a number in digits.".to_owned(),
        },
        better,
        is_note: false,
    }
}
