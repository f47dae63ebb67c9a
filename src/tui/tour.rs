//! The tour of a demo: what to look at, and what it means. `docs/DEMO.md` is written from the same
//! steps.

pub mod strip;

use std::fmt::Write as _;

use super::command::{Command, Copied, View};
use super::keymap::Keymap;
use super::keymap::names::{told, with_keys};
use super::{findings, text, views};
use crate::snapshot::{DemoState, Feed, Snapshot};

/// A step of the tour.
#[derive(Clone, Copy)]
pub struct Step {
    /// What it is about.
    pub title: &'static str,
    /// What does by hand what the step does by itself; none when it does nothing.
    pub by_hand: Option<Command>,
    /// What there is to see, with actions in braces where their keys are named.
    pub say: &'static str,
    /// The same in two rows of 38 columns, for screens without room for more.
    pub brief: &'static str,
    /// When it belongs to the tour.
    pub when: When,
    /// What it does.
    pub enter: &'static [Command],
    /// What the picture says of it now.
    pub live: fn(&Snapshot) -> Option<String>,
}

/// When a step belongs to a tour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// In scenarios that can be mended.
    Mendable,
    /// In the others.
    Well,
    /// When this view is built.
    Built(View),
}

/// Moves a tour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To the next step; after the last one it ends.
    Next,
    /// To the step before.
    Back,
    /// Begin, or end it.
    Toggle,
}

const fn step(
    title: &'static str,
    by_hand: Option<Command>,
    say: &'static str,
    brief: &'static str,
) -> Step {
    Step { title, by_hand, say, brief, when: When::Always, enter: &[], live: nothing }
}

/// Every step, in order.
pub const STEPS: [Step; 11] = [
    Step {
        live: about,
        enter: &[Command::Show(View::Overview)],
        ..step(
            "A deployment",
            Some(Command::Show(View::Overview)),
            "Two workers behind one frontend, and users who come back with long prompts. Requests \
             complete and answers are right: from outside, nothing looks broken. All of it is \
             simulated; kvtop reads the same bytes as from a real deployment.",
            "One frontend, two workers, prompts that come again. All of it simulated.",
        )
    },
    Step {
        live: banner,
        when: When::Mendable,
        ..step(
            "The banner",
            None,
            "What is wrong, in one sentence: the cause, how sure that is, and the fix. It stays on \
             every view. CONFIRMED takes two kinds of evidence, one of them what was seen to happen.",
            "What is wrong, how sure that is, and what mends it; on every view.",
        )
    },
    Step {
        live: banner,
        when: When::Well,
        ..step(
            "No banner",
            None,
            "When nothing is wrong there is no banner. A check that lacks evidence is unknown, and \
             unknown is never green: kvtop says what it would need to see.",
            "Nothing is wrong, so there is no banner. Unknown is never green.",
        )
    },
    Step {
        when: When::Built(View::Workers),
        enter: &[Command::Show(View::Workers)],
        live: workers,
        ..step(
            "Workers",
            Some(Command::Show(View::Workers)),
            "CACHED is what a router that saw every event holds of a worker, ORPH% the share of its \
             stores that such a router refuses because the parent is unknown.",
            "CACHED: what routers hold of a worker. ORPH%: stores that they refuse.",
        )
    },
    Step {
        when: When::Built(View::Routing),
        enter: &[Command::Show(View::Routing)],
        live: overlap,
        ..step(
            "Routing",
            Some(Command::Show(View::Routing)),
            "Every decision with the terms of its cost. Where no decision finds a cached block, the \
             router is a load balancer, and the cache helps by chance only.",
            "Each decision with its cost. Where all have CACHED 0, only load decides.",
        )
    },
    Step {
        enter: &[Command::TopFinding],
        live: evidence,
        ..step(
            "Evidence",
            Some(Command::TopFinding),
            "Each finding with what speaks for it, where that was read, and what would refute it. \
             Then the fix, to paste; kvtop applies nothing.",
            "What speaks for a finding, what would refute it, and the fix to paste.",
        )
    },
    Step {
        when: When::Mendable,
        live: fix,
        ..step(
            "The fix",
            Some(Command::Copy(Copied::Fix)),
            "{copy-fix} copies the fix, {copy-kubectl} the command where one is known. Somebody else \
             applies it. Here it can be tried: the next step applies it to the simulation, as {demo-fix} \
             does.",
            "{copy-fix} copies the fix for somebody to apply. The next step tries it here.",
        )
    },
    Step {
        when: When::Mendable,
        enter: &[Command::DemoFix, Command::Show(View::Overview)],
        live: cached,
        ..step(
            "Mended",
            Some(Command::DemoFix),
            "ORPH% falls, CACHED climbs, and decisions find blocks again. The banner says RESOLVED \
             only after half a minute of proof: silence is no proof.",
            "ORPH% falls, CACHED climbs. RESOLVED takes half a minute of proof.",
        )
    },
    Step {
        when: When::Built(View::Tree),
        enter: &[Command::Show(View::Tree)],
        live: cached,
        ..step(
            "The tree",
            Some(Command::Show(View::Tree)),
            "The prefixes that are cached, hottest first, and who holds them. {tree-in} opens one, \
             {tree-out} closes it; it grows while you look.",
            "Cached prefixes, hottest first, and who holds them. {tree-in} opens one.",
        )
    },
    Step {
        enter: &[Command::Show(View::Overview)],
        ..step(
            "Freeze, and back in time",
            Some(Command::ToggleFreeze),
            "{toggle-freeze} holds the picture while data flows on, and lets it go again. {past-back-10} \
             goes back in time, {past-ahead-10} ahead, {past-now} to now: what was wrong before the fix \
             can still be seen. So can a recording be stepped through (kvtop record, kvtop replay).",
            "{toggle-freeze} holds the picture. {past-back-10} goes back in time, {past-now} back to now.",
        )
    },
    Step {
        ..step(
            "Take it along",
            Some(Command::OpenExport),
            "{open-export} writes the view into a file: svg for a slide, md for a ticket. In a pipeline the same \
             verdict is `kvtop check; echo $?`. {quit} leaves; thank you for looking.",
            "{open-export} writes the view into a file. In a pipeline: `kvtop check`. {quit} leaves.",
        )
    },
];

/// Returns the steps of the tour of a demo.
pub fn steps(demo: &DemoState) -> Vec<&'static Step> {
    let belongs = |step: &&Step| match step.when {
        When::Always => true,
        When::Mendable => !demo.fix.is_empty(),
        When::Well => demo.fix.is_empty(),
        When::Built(view) => views::is_built(view),
    };
    STEPS.iter().filter(belongs).collect()
}

fn nothing(_: &Snapshot) -> Option<String> {
    None
}

fn about(live: &Snapshot) -> Option<String> {
    let Feed::Demo(demo) = &live.feed else { return None };
    Some(demo.about.clone())
}

fn banner(live: &Snapshot) -> Option<String> {
    let top = findings::alert(live).top?;
    Some(format!("{} {}: {}", top.id, findings::grade(top), top.summary))
}

fn evidence(live: &Snapshot) -> Option<String> {
    let top = findings::alert(live).top?;
    let count = top.evidence.iter().filter(|proof| !proof.against).count();
    let pieces = if count == 1 { "piece" } else { "pieces" };
    Some(format!("{}: {count} {pieces} of evidence", top.id))
}

fn fix(live: &Snapshot) -> Option<String> {
    let Feed::Demo(demo) = &live.feed else { return None };
    Some(if demo.fixed { "It is applied.".to_owned() } else { demo.fix.clone() })
}

fn workers(live: &Snapshot) -> Option<String> {
    let share = live.totals.orphan_share?;
    let cached = text::thousands(live.totals.accepted);
    Some(format!("ORPH% {} in all, {cached} blocks cached", text::percent(share)))
}

fn overlap(live: &Snapshot) -> Option<String> {
    let (known, zero) = (live.router.overlap_known, live.router.overlap_zero);
    let counts = (text::thousands(zero), text::thousands(known));
    (known > 0).then(|| format!("{} of {} requests found nothing cached", counts.0, counts.1))
}

fn cached(live: &Snapshot) -> Option<String> {
    let (accepted, held) = (live.tree.accepted_blocks, live.tree.held_blocks);
    let counts = (text::thousands(accepted), text::thousands(held));
    // Before the first event nothing is known of the tree.
    (live.frames > 0)
        .then(|| format!("{} blocks as the router counts them, {} held", counts.0, counts.1))
}

/// Returns docs/DEMO.md.
pub fn script() -> String {
    let mut page = String::from(
        "# The demo, step by step\n\n\
         Generated from the steps of the tour (`KVTOP_BLESS=1 cargo test` rewrites it).\n\n\
         ```\nkvtop demo --tour              # three workers and 80 users, with block sizes that differ\n\
         kvtop demo fleet-16 --tour     # the same tour of any other scenario\n```\n\n\
         A strip beside the view tells what this page tells. `N` goes on, `B` goes back, `Q` ends the \
         tour and\nbegins it again; every other key works as usual, so that questions can be followed. \
         No cluster, no server\nand no network are needed, and `--seed` gives the same events each \
         time.\n\n\
         | | step | key | when | say |\n|---|---|---|---|---|\n",
    );
    let usual = Keymap::default();
    // Views that are not built yet are left out of the tour, and so of its script.
    let built = |step: &&Step| !matches!(step.when, When::Built(view) if !views::is_built(view));
    for (at, step) in STEPS.iter().filter(built).enumerate() {
        let key = step.by_hand.map(|command| format!("`{}`", told(&usual, command)));
        let key = key.unwrap_or_default();
        let when = match step.when {
            When::Always | When::Built(_) => "",
            When::Mendable => "something is wrong",
            When::Well => "nothing is wrong",
        };
        let (number, title, say) = (at + 1, step.title, with_keys(&usual, step.say));
        // Writing to a string cannot fail.
        writeln!(page, "| {number} | {title} | {key} | {when} | {say} |").unwrap_or_default();
    }
    page.push_str(
        "\nThe fix is on the workers: `tokens_per_block` of TensorRT-LLM, `--block-size` of vLLM. The \
         steps \"The fix\"\nand \"Mended\" are of scenarios that can be mended.\n\n\
         For a projector: `--theme light` or `--theme high-contrast`; `t` changes it while it runs. \
         Without a\nterminal to show: `kvtop snapshot --demo mismatch --for 2m -o svg > slide.svg`.\n",
    );
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demo(fix: &str) -> DemoState {
        DemoState {
            scenario: "any".to_owned(),
            about: "about".to_owned(),
            fix: fix.to_owned(),
            ..DemoState::default()
        }
    }

    #[test]
    fn only_scenarios_that_can_be_mended_tell_of_a_fix() {
        let titles =
            |fix: &str| -> Vec<&str> { steps(&demo(fix)).iter().map(|step| step.title).collect() };
        assert!(titles("roll them").contains(&"The fix"));
        assert!(!titles("roll them").contains(&"No banner"));
        assert!(!titles("").contains(&"Mended"));
        assert!(titles("").contains(&"No banner"));
    }

    #[test]
    fn steps_name_keys_that_do_what_they_do() {
        let usual = Keymap::default();
        for step in &STEPS {
            for said in [step.say, step.brief] {
                let said = with_keys(&usual, said);
                assert!(!said.contains(['{', '}']), "{said}");
            }
            let brief = text::wrap(&with_keys(&usual, step.brief), 38);
            assert!(brief.len() <= 2, "{brief:?}");
            let Some(by_hand) = step.by_hand else { continue };
            assert!(!told(&usual, by_hand).starts_with([':', '(']), "{}", step.title);
            let first =
                step.enter.first().filter(|command| **command != Command::Show(View::Overview));
            assert!(first.is_none_or(|command| *command == by_hand), "{}", step.title);
        }
    }
}
