//! The `kvtop` binary.

#[path = "../tests/support/pictures.rs"]
mod pictures;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use kvtop::run::terminal::{self, NoHooks, TerminalOptions};
use kvtop::snapshot::{Feed, ViewQuery};
use kvtop::tui::command::Action;
use kvtop::tui::theme::{Glyphs, Level, Themes};
use tokio::sync::{mpsc, watch};

fn main() -> ExitCode {
    let Ok(runtime) = tokio::runtime::Runtime::new() else { return ExitCode::FAILURE };
    let code = match runtime.block_on(demo()) {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(_) => ExitCode::FAILURE,
    };
    runtime.shutdown_timeout(Duration::from_millis(100));
    code
}

async fn demo() -> Result<terminal::Exit, terminal::TerminalError> {
    let which = std::env::args().nth(2);
    let mut picture = match which.as_deref() {
        Some("late") => pictures::late_attach(),
        Some("large") => pictures::large(),
        Some("replay") => pictures::replay(),
        Some("healthy") => pictures::healthy(),
        _ => pictures::mismatch(),
    };
    let (show, shown) = watch::channel(Arc::new(picture.clone()));
    let (queries, _asked) = watch::channel(ViewQuery::default());
    let (actions, mut acted) = mpsc::channel(16);
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        loop {
            tokio::select! {
                _ = tick.tick() => {}
                Some(action) = acted.recv() => {
                    if let (Action::DemoFix, Feed::Demo(demo)) = (action, &mut picture.feed) {
                        demo.fixed = true;
                    }
                }
            }
            picture.at = picture.at.after(Duration::from_millis(100));
            picture.newest = picture.at;
            picture.frames += 18;
            for points in [
                &mut picture.series.stores,
                &mut picture.series.removals,
                &mut picture.series.refused,
            ] {
                points.points.rotate_left(1);
            }
            show.send_replace(Arc::new(picture.clone()));
        }
    });
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    let locale = [env("LC_ALL"), env("LC_CTYPE"), env("LANG")];
    let options = TerminalOptions {
        theme: String::from("terminal"),
        themes: Themes::default(),
        level: Level::for_terminal(&env("NO_COLOR"), &env("COLORTERM"), &env("TERM")),
        glyphs: Glyphs::for_locale(locale.iter().map(String::as_str)),
        panics: None,
    };
    terminal::run(shown, queries, actions, options, NoHooks).await
}
