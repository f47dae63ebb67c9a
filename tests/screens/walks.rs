//! Somebody presses any keys, at any size, over any scenario or recording: nothing panics, and what is
//! on the screen is what was asked for.

use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::domain::Timestamp;
use kvtop::engine::Engine;
use kvtop::simulator::Scenario;
use kvtop::snapshot::{DemoState, Feed, Playback, Snapshot};
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level};
use proptest::prelude::*;

use super::{draw_with, shell, text, theme};
use crate::scenarios::engine;
use crate::support::{captures, frames, played};

/// An engine halfway and one at the end, and what feeds them.
struct Place {
    engines: [(Engine, Timestamp); 2],
    feed: Feed,
}

impl Place {
    fn picture(&mut self, shell: &Shell, later: bool, before: &Snapshot) -> Snapshot {
        let (engine, at) = &mut self.engines[usize::from(later)];
        let mut picture = engine.snapshot(&shell.query(before), *at);
        picture.feed = self.feed.clone();
        picture
    }
}

fn scenario(scenario: Scenario) -> Place {
    let fixable = scenario == Scenario::Mismatch;
    let fix = if fixable { String::from("Workers restart.") } else { String::new() };
    let name = scenario.name().to_owned();
    let demo = DemoState {
        scenario: name,
        fix,
        mends: scenario.mends(),
        next_step: Some("applies the fix"),
        ..DemoState::default()
    };
    Place {
        engines: [6, 20].map(|seconds| {
            let (_, engine, at) = engine(scenario, seconds);
            (engine, at)
        }),
        feed: Feed::Demo(demo),
    }
}

fn recording(wanted: &str) -> Place {
    let (_, path) = captures().into_iter().find(|(name, _)| name == wanted).unwrap();
    let frames = frames(&path);
    let (start, end) = (frames[0].at, frames[frames.len() - 1].at);
    let play = |count: usize| (played(&frames[..count]).0, frames[count - 1].at);
    let playback =
        Playback { name: wanted.to_owned(), start, end, position: end, ..Playback::default() };
    Place { engines: [play(frames.len() / 3), play(frames.len())], feed: Feed::Replay(playback) }
}

/// Every scenario, and recordings of the first, a middle and the last version.
static PLACES: LazyLock<Vec<Mutex<Place>>> = LazyLock::new(|| {
    let recorded = ["0.9.0-evict", "1.3.1-healthy", "1.6.1-dp"];
    Scenario::ALL
        .into_iter()
        .map(scenario)
        .chain(recorded.into_iter().map(recording))
        .map(Mutex::new)
        .collect()
});

/// What may happen.
#[derive(Clone, Debug)]
enum Step {
    Press(KeyEvent),
    Resize(u16, u16),
    /// Time passes, or a replay goes back.
    Pass(bool),
}

fn key() -> impl Strategy<Value = KeyEvent> {
    let codes = vec![
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Backspace,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::F(1),
    ];
    let plain = |code| KeyEvent::new(code, KeyModifiers::NONE);
    let held = |code| KeyEvent::new(code, KeyModifiers::CONTROL);
    prop_oneof![
        // Views and what opens things are pressed more often than the rest.
        3 => (b'1'..=b'6').prop_map(char::from).prop_map(KeyCode::Char).prop_map(plain),
        4 => proptest::sample::select(codes).prop_map(plain),
        5 => (b' '..=b'~').prop_map(char::from).prop_map(KeyCode::Char).prop_map(plain),
        1 => (b'a'..=b'z').prop_map(char::from).prop_map(KeyCode::Char).prop_map(held),
        1 => any::<char>().prop_map(KeyCode::Char).prop_map(plain),
    ]
}

fn is_ascii(code: KeyCode) -> bool {
    !matches!(code, KeyCode::Char(letter) if !letter.is_ascii())
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => key().prop_map(Step::Press),
        1 => (1..220_u16, 1..70_u16).prop_map(|(width, height)| Step::Resize(width, height)),
        1 => any::<bool>().prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_keys_at_any_size_over_any_recording_only_draw(
        place in 0..PLACES.len(),
        size in (1..220_u16, 1..70_u16),
        ascii in any::<bool>(),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let typed = |step: &Step| matches!(step, Step::Press(key) if !is_ascii(key.code));
        let ascii_only = ascii && !steps.iter().any(typed);
        let mut place = PLACES[place].lock().unwrap();
        let theme = theme(Level::Mono, if ascii { Glyphs::ASCII } else { Glyphs::UNICODE });
        let (mut shell, mut size, mut later) = (shell(), size, false);
        let mut picture = place.picture(&shell, later, &Snapshot::default());
        shell.resize(size.0, size.1, &picture);
        shell.note_picture(&picture);
        for step in steps {
            match step {
                Step::Press(key) => {
                    let Some(command) = shell.command(key, &picture) else { continue };
                    // Whatever is asked of the program, quitting included, the walk goes on.
                    shell.update(command, &picture);
                }
                Step::Resize(width, height) => size = (width, height),
                Step::Pass(forward) => later = forward,
            }
            shell.wait(Duration::from_millis(300));
            // First as long as the picture answers the question before this one.
            draw_with(&mut shell, &picture, size, &theme);
            picture = place.picture(&shell, later, &picture);
            shell.note_picture(&picture);
            let drawn = draw_with(&mut shell, &picture, size, &theme);
            prop_assert_eq!(drawn.area().width, size.0);
            if ascii_only {
                prop_assert!(text(&drawn).is_ascii(), "{}", text(&drawn));
            }
        }
    }
}
