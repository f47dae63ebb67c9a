//! The users' own story, played in the real binary: an incident, its fix, a lost router, a switched mode.
//!
//! Each step is met by fresh attaches (screen and `kvtop check`) and by a screen that watches throughout.

mod fresh;
mod table;
mod watching;

pub(crate) use fresh::verdict;

use std::sync::Mutex;

use table::Row;

#[test]
fn the_users_story_is_told_right_at_every_step_by_fresh_attaches_and_by_a_watching_screen() {
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let seen = watching::story();
            rows.lock().unwrap().extend(seen);
        });
        // One after the other: `check` reads history for half a minute at most. Four played clusters at once take
        // longer than that where other tests run too.
        scope.spawn(|| {
            for step in fresh::steps() {
                let seen = fresh::meet(step);
                rows.lock().unwrap().extend(seen);
            }
        });
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by(|a, b| (a.step, a.view, a.face).cmp(&(b.step, b.view, b.face)));
    table::judge(&rows);
}

/// Keeps the played cluster up for a person: `cargo test --test main by_hand_story_stage -- --ignored --nocapture`.
/// `STORY_STEP` names the step, such as `b`; it ends after ten minutes or when `STORY_STAGE_ENDS` exists.
#[test]
#[ignore = "a stage for people"]
fn by_hand_story_stage() {
    fresh::stage();
}

/// Returns an empty row of the table.
fn row(step: &'static str, face: &'static str, view: &'static str) -> Row {
    Row { step, face, view, verdict: String::new(), seconds: 0.0, wrong: Vec::new() }
}
