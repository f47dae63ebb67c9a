//! The tour of a demo: what to look at, and what it means. `docs/DEMO.md` is written from the same
//! steps.

pub mod strip;

use std::fmt::Write as _;

use super::command::{Command, Copied, Past, Simulate, View};
use super::keymap::Keymap;
use super::keymap::names::{key_or_line, with_keys};
use super::{findings, text, views};
use crate::snapshot::{DemoState, Feed, Snapshot};

/// A step of the tour.
#[derive(Clone, Copy)]
pub struct Step {
    /// Its subject.
    pub title: &'static str,
    /// The command that does by hand what the step does by itself; none when it does nothing.
    pub by_hand: Option<Command>,
    /// The text, with actions in braces where their keys are named.
    pub say: &'static str,
    /// The same in two rows of 38 columns, for screens without room for more.
    pub brief: &'static str,
    /// The condition under which it belongs to the tour.
    pub when: When,
    /// Its effect.
    pub enter: &'static [Command],
    /// The current figures of the picture.
    pub live: fn(&Snapshot) -> Option<String>,
}

/// The condition under which a step belongs to a tour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// In scenarios that can be mended.
    Mendable,
    /// In the others.
    Well,
    /// Belongs if this view is built.
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
pub const STEPS: [Step; 14] = [
    Step {
        live: about,
        enter: &[Command::Show(View::Overview)],
        ..step(
            "The deployment",
            Some(Command::Show(View::Overview)),
            "Workers behind one router, and users in conversations that repeat their whole history. \
             Requests complete and answers are right: from outside, nothing looks broken. Everything is \
             simulated; kvtop decodes the same bytes as on a real cluster.",
            "Users, one router, a few workers. Everything here is simulated.",
        )
    },
    Step {
        live: banner,
        when: When::Mendable,
        ..step(
            "The verdict",
            None,
            "One block says what is wrong, what to do, and how kvtop knows. CONFIRMED needs two \
             independent kinds of evidence, and at least one must be observed behaviour.",
            "The problem, the fix, and the evidence. On every view.",
        )
    },
    Step {
        live: banner,
        when: When::Well,
        ..step(
            "The verdict",
            None,
            "HEALTHY says how many checks are clear and which need more data. A check without evidence \
             is unknown, and unknown is never green.",
            "Checks that are clear, and checks that need data. Unknown is never green.",
        )
    },
    Step {
        live: figures,
        ..step(
            "The figures",
            None,
            "What users feel: cached prompt tokens, time to first token, rejected stores, blocks in the \
             router's index, KV cache in use. After each change they show before and after.",
            "What users feel. After each change: before and after.",
        )
    },
    Step {
        ..step(
            "The timeline",
            Some(Command::NextGraph),
            "Blocks stored upwards, blocks evicted downwards, and marks for what happened. {next-graph} \
             shows hits, TTFT, KV cache, index and requests on the same axis.",
            "Stored up, evicted down, marks on the axis. {next-graph}: other series.",
        )
    },
    Step {
        when: When::Built(View::Workers),
        enter: &[Command::Show(View::Workers)],
        live: workers,
        ..step(
            "Workers",
            Some(Command::Show(View::Workers)),
            "CACHED is what a router that saw every event holds for a worker. REJ% is the share of its \
             stores that such a router, or the real one by its log, rejects because the parent block is unknown.",
            "CACHED: blocks the router can find. REJ%: stores that it rejects.",
        )
    },
    Step {
        when: When::Built(View::Routing),
        enter: &[Command::Show(View::Routing)],
        live: overlap,
        ..step(
            "Routing",
            Some(Command::Show(View::Routing)),
            "Every decision with the terms of its cost. A router that finds no cached block only \
             balances load, and any cache hit is luck.",
            "Each decision with its cost. Without overlap only load decides.",
        )
    },
    Step {
        enter: &[Command::TopFinding],
        live: evidence,
        ..step(
            "Evidence",
            Some(Command::TopFinding),
            "The answer to \"how do you know?\": each observation with its source, the alternatives that \
             were ruled out, and what would disprove the finding.",
            "Observations with sources, alternatives, and the disproof.",
        )
    },
    Step {
        when: When::Mendable,
        live: fix,
        ..step(
            "The fix",
            Some(Command::Copy(Copied::Fix)),
            "{copy-fix} copies the commands, or the sentence where no object is known. kvtop is \
             read-only and never applies them. In this demo the next step does, as {demo-fix} would.",
            "{copy-fix} copies the fix. kvtop never applies it; the next step does.",
        )
    },
    Step {
        when: When::Mendable,
        enter: &[Command::DemoFix, Command::Show(View::Overview)],
        live: cached,
        ..step(
            "Apply it",
            Some(Command::DemoFix),
            "The setting is written and workers restart one by one. The verdict follows each pod, then \
             counts healthy seconds: RESOLVED comes after 30 s of healthy traffic. Silence does not \
             count.",
            "Pods restart one by one. RESOLVED needs 30 s of healthy traffic.",
        )
    },
    Step {
        when: When::Built(View::Tree),
        enter: &[Command::Show(View::Tree)],
        live: cached,
        ..step(
            "The tree",
            Some(Command::Show(View::Tree)),
            "The cached prefixes, hottest first, and which worker has them. labels.toml gives them names. \
             {tree-in} opens one, {tree-out} closes it.",
            "Cached prefixes by name, and who has them. {tree-in} opens one.",
        )
    },
    Step {
        enter: &[Command::Show(View::Overview)],
        live: load,
        ..step(
            "Load and router mode",
            Some(Command::Simulate(Simulate::Mode)),
            "{simulate-fewer-users} and {simulate-more-users} change the load, {simulate-mode} the router \
             mode, {simulate-worker} adds a worker. Towards 180 users with KV routing, conversations fill \
             one worker's batch while others have room: TTFT p95 jumps, p50 stays.",
            "{simulate-fewer-users} {simulate-more-users} load, {simulate-mode} mode, {simulate-worker} \
             one worker more. Watch TTFT.",
        )
    },
    Step {
        ..step(
            "Back in time",
            Some(Command::Past(Past::Step(-1))),
            "{past-step-back-1} and {past-step-1} move one cursor for the whole screen, and so does the \
             mouse on the timeline. {past-marker-back-1} jumps to the mark before, {past-now} returns to \
             now. Recordings can be replayed in the same way.",
            "{past-step-back-1} moves the whole screen into the past, {past-now} back to now.",
        )
    },
    Step {
        ..step(
            "Take it along",
            Some(Command::OpenExport),
            "{open-export} writes the view into a file: svg for a slide, md for a ticket. In a pipeline, \
             `kvtop check` gives the same verdict as an exit code. Press {quit} to quit. Thanks for \
             watching.",
            "{open-export} writes the view to a file; `kvtop check` for pipelines. {quit} quits.",
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
    let share = live.totals.rejected(live.totals.orphan_share)?;
    let cached = text::thousands(live.totals.accepted);
    Some(format!("REJ% {} overall, {cached} blocks cached", text::percent(share)))
}

fn overlap(live: &Snapshot) -> Option<String> {
    let (known, zero) = (live.router.overlap_known, live.router.overlap_zero);
    let counts = (text::thousands(zero), text::thousands(known));
    (known > 0).then(|| format!("{} of {} requests found nothing cached", counts.0, counts.1))
}

fn figures(live: &Snapshot) -> Option<String> {
    let cached = text::whole_percent(live.felt.cached?);
    let [p50, p95] = live.felt.first_token?;
    Some(format!("{cached} % of prompt tokens cached; TTFT p50 {p50:.2} s, p95 {p95:.2} s"))
}

fn load(live: &Snapshot) -> Option<String> {
    let Feed::Demo(demo) = &live.feed else { return None };
    let users = demo.users;
    Some(format!("{users} users, {} routing, {} workers", demo.mode, demo.workers))
}

fn cached(live: &Snapshot) -> Option<String> {
    let (accepted, held) = (live.tree.accepted_blocks, live.tree.held_blocks);
    let counts = (text::thousands(accepted), text::thousands(held));
    // Before the first event nothing is known of the tree.
    (live.frames > 0).then(|| format!("index: {} blocks accepted, {} held", counts.0, counts.1))
}

/// The part of docs/DEMO.md below the steps.
const QUESTIONS: &str = "
The fix is on the workers: `tokens_per_block` of TensorRT-LLM, `{flag::BLOCK_SIZE}` of vLLM. The steps \"The fix\"
and \"Apply it\" appear only in scenarios that have a fix.

## Five minutes at a booth

1. Start with `kvtop demo --tour --theme dark` on the audience's display. The verdict is red: cache hits are
   luck, the router's index is empty.
2. Ask what the audience would restart. The verdict names the setting, and the evidence (`f`) says why the
   frontend's setting would not have helped.
3. Press `X`. Pods restart one by one, the bar in the verdict fills, and the green row says by how much hits and
   TTFT changed.
4. Press `R` for round-robin, and `R` again. In `kvtop demo fleet-16` the difference is largest: sixteen caches
   hold what one cannot.
5. Press `>` up to 180 users: TTFT p95 jumps with KV routing, p50 stays mild. `W` adds a worker.

## Questions that visitors ask

| question | answer |
|---|---|
| By how much? | The row of figures shows before and after; the green row repeats it once the finding is resolved. |
| How do you know? | `f`: every observation with its source, the alternatives that were ruled out, and what would disprove it. |
| Is this real? | The bytes are those of Dynamo 0.9.0, the service times are fitted to measurements (below), the users are simulated. |
| Does kvtop change anything? | No. It reads; fixes are printed and copied. Only this demo has a key that applies one. |
| What if nothing is reported? | Then the row says which data is missing. Unknown is never shown as good. |
| What does it cost? | NATS: two subscriptions, and one read of the stored events. ZMQ: one connection per publisher. Metrics are read every 5 s. |
| What happened before I looked? | `Left` moves the whole screen back, `(` jumps to the mark before; `kvtop record` keeps more. |

## The other scenarios

`fleet-8` and `fleet-16` are larger deployments with the service times of the measured one. `mismatch`, `healthy`,
`router-mismatch`, `no-history`, `churn` and `silent` run on the same service model with the numbers of a small
model on two workers, whose 50 users take five seconds to answer. These numbers are guessed, not measured. Load,
router mode, workers and the fix have the same keys everywhere. `kvtop demo --gallery` prints every graph in every
colour mode.

For a projector: `--theme light` or `--theme high-contrast`; `t` changes it while it runs. Without a
terminal to show: `kvtop snapshot --demo gtc-demo --for 2m -o svg > slide.svg`.
";

/// Returns docs/DEMO.md.
pub fn script() -> String {
    let mut page = String::from(
        "# The demo, step by step\n\n\
         Generated from the steps of the tour (`tests/bless` rewrites it).\n\n\
         ```\nkvtop demo --tour              # three workers and 80 users, with block sizes that differ\n\
         kvtop demo fleet-16 --tour     # the same tour of any other scenario\n```\n\n\
         A strip beside the view shows the text of this page. `N` goes on, `B` goes back, `Q` closes the \
         tour and\nopens it again; all other keys work as usual, so you can follow up on audience \
         questions. No cluster, no\nserver and no network are needed, and `--seed` gives the same events \
         each time.\n\n\
         | | step | key | when | say |\n|---|---|---|---|---|\n",
    );
    let usual = Keymap::default();
    // Views that are not built yet are left out of the tour, and so of its script.
    let built = |step: &&Step| !matches!(step.when, When::Built(view) if !views::is_built(view));
    for (at, step) in STEPS.iter().filter(built).enumerate() {
        let key = step.by_hand.map(|command| format!("`{}`", key_or_line(&usual, command)));
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
    page.push_str(&crate::dynamo::fill(QUESTIONS));
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
        assert!(!titles("").contains(&"Mended"));
        let healthy = steps(&demo("")).into_iter().filter(|step| step.when == When::Well).count();
        let broken = steps(&demo("roll them")).into_iter().any(|step| step.when == When::Well);
        assert!(healthy == 1 && !broken);
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
            assert!(!key_or_line(&usual, by_hand).starts_with([':', '(']), "{}", step.title);
            let first =
                step.enter.first().filter(|command| **command != Command::Show(View::Overview));
            assert!(first.is_none_or(|command| *command == by_hand), "{}", step.title);
        }
    }
}
