//! What a picture and a frame cost, by the size of the tree and the number of workers, and how many
//! bytes a frame sends. `cargo bench --bench frames`; docs/PERFORMANCE.md has the figures.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a bench takes times and is read by people"
)]

use std::cell::Cell;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::domain::{Block, SequenceHash, Tier, Timestamp, TokensHash, WorkerRank};
use kvtop::engine::{Engine, EngineOptions};
use kvtop::frame::{Frame, Origin};
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level, Themes};
use kvtop::wire::encode::{Change, Family, RouterEvent};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

/// Blocks of one prompt, and of what all prompts of a group share.
const PROMPT: u64 = 64;
/// Prompts that share their first half.
const GROUP: u64 = 32;
/// Frames measured for each view.
const FRAMES: usize = 200;
/// Time between frames, as on the screen.
const STEP: Duration = Duration::from_millis(100);

/// Counts what is written to a terminal.
#[derive(Clone, Default)]
struct Counted(Rc<Cell<usize>>);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream of stores: prompts in groups that share a beginning, one worker after the other.
struct Load {
    engine: Engine,
    workers: u64,
    /// Ranks of each worker.
    ranks: u32,
    prompt: u64,
    at: Timestamp,
}

impl Load {
    fn new(workers: u64, ranks: u32) -> Self {
        let options = EngineOptions { memory_limit: 8 << 30, ..EngineOptions::default() };
        let at = Timestamp(1_000_000_000_000);
        Self { engine: Engine::new(options), workers, ranks, prompt: 0, at }
    }

    /// Stores `prompts` more, one frame each.
    fn store(&mut self, prompts: u64) {
        let mut frames = Vec::with_capacity(1024);
        for _ in 0..prompts {
            frames.push(self.frame());
            if frames.len() == 1024 {
                self.engine.ingest(&frames);
                frames.clear();
            }
        }
        self.engine.ingest(&frames);
    }

    fn frame(&mut self) -> Frame {
        let (prompt, group) = (self.prompt, self.prompt / GROUP);
        self.prompt += 1;
        let block = |at: u64| {
            let own = if at < PROMPT / 2 { group << 1 } else { prompt << 1 | 1 };
            let name = (own << 8 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Block { sequence: SequenceHash(name), tokens: TokensHash(name ^ 1) }
        };
        let blocks: Vec<Block> = (0..PROMPT).map(block).collect();
        let (turn, rank) = (prompt / self.workers, u64::from(self.ranks));
        let event = RouterEvent {
            rank: WorkerRank::new(1 + prompt % self.workers, u32::try_from(turn % rank).unwrap()),
            tier: Tier::Device,
            event_id: turn / rank,
            change: Change::Stored { parent: None, blocks: &blocks },
        };
        let origin = Origin::nats("namespace-dynamo-component-backend-kv-events.kv-events");
        Frame::new(self.at, origin, event.json(Family::V0_9))
    }
}

fn percentile(times: &mut [Duration], share: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * share / 100].as_secs_f64() * 1e6
}

/// Draws a view while stores come, and prints one row of the table.
fn measure(load: &mut Load, (width, height): (u16, u16), view: char) {
    let themes = Themes::default();
    let theme = themes.theme("terminal", Level::True, Glyphs::UNICODE).unwrap();
    let written = Counted::default();
    let area = Rect::new(0, 0, width, height);
    let options = TerminalOptions { viewport: Viewport::Fixed(area) };
    let mut terminal =
        Terminal::with_options(CrosstermBackend::new(written.clone()), options).unwrap();
    let mut shell = Shell::new("terminal", themes.names());
    let (mut pictures, mut frames, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    let mut picture =
        load.engine.snapshot(&shell.query(&kvtop::snapshot::Snapshot::default()), load.at);
    let key = KeyEvent::new(KeyCode::Char(view), KeyModifiers::NONE);
    if let Some(command) = shell.command(key, &picture) {
        shell.update(command, &picture);
    }
    for frame in 0..FRAMES + 10 {
        load.at = load.at.after(STEP);
        load.store(1);
        shell.resize(width, height, &picture);
        let start = Instant::now();
        picture = load.engine.snapshot(&shell.query(&picture), load.at);
        let taken = start.elapsed();
        let before = written.0.get();
        let start = Instant::now();
        terminal.draw(|frame| shell.draw(&picture, &theme, frame)).unwrap();
        // The first ones fill the screen and its caches.
        if frame >= 10 {
            frames.push(start.elapsed());
            pictures.push(taken);
            bytes.push(written.0.get() - before);
        }
    }
    bytes.sort_unstable();
    println!(
        "| {} | {} | {width}x{height} | {view} | {:.0} / {:.0} | {:.0} / {:.0} | {} / {} |",
        picture.tree.accepted_blocks,
        load.workers * u64::from(load.ranks),
        percentile(&mut pictures, 50),
        percentile(&mut pictures, 99),
        percentile(&mut frames, 50),
        percentile(&mut frames, 99),
        bytes[bytes.len() / 2],
        bytes[bytes.len() - 1],
    );
}

fn main() {
    println!(
        "| blocks | ranks | size | view | picture us p50 / p99 | frame us p50 / p99 | bytes p50 / most |"
    );
    println!("|--|--|--|--|--|--|--|");
    let loads = [
        (2, 1, 16),
        (2, 1, 1_600),
        (2, 1, 100_000),
        (64, 1, 1_600),
        (1_000, 1, 16_000),
        (1_000, 8, 80_000),
    ];
    // `cargo bench --bench frames -- 8000` takes the loads with so many ranks alone.
    let wanted: Option<u64> = std::env::args().find_map(|word| word.parse().ok());
    let is_wanted = |workers, ranks| wanted.is_none_or(|it| it == workers * u64::from(ranks));
    for (workers, ranks, prompts) in loads {
        if !is_wanted(workers, ranks) {
            continue;
        }
        let mut load = Load::new(workers, ranks);
        load.store(prompts);
        for view in ['1', '2', '3', '4', '5', '6', '7'] {
            measure(&mut load, (120, 36), view);
        }
        measure(&mut load, (200, 60), '1');
        measure(&mut load, (200, 60), '3');
    }
}
