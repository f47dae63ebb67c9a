//! Simulated cells beside measured ones.

use std::fmt;

use super::sweep::{LEVELS, Level, MODES, Sweep};
use kvtop::simulator::RouterMode;

/// The table that was measured.
const MEASURED: &str = include_str!("measured.tsv");
/// What the cells are.
const CELLS: [&str; 8] = [
    "TTFT p50",
    "TTFT p95",
    "ITL p50",
    "ITL p95",
    "latency p50",
    "latency p95",
    "tokens/s",
    "hit %",
];
/// How far a cell may be off.
const NEAR: f64 = 0.15;

/// The measured cells by mode and level.
pub(crate) type Measured = [Vec<[f64; 8]>; 2];

/// Reads the measured table.
pub(crate) fn measured() -> Measured {
    let mut table: Measured = [Vec::new(), Vec::new()];
    for line in
        MEASURED.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
    {
        let mut fields = line.split('\t').skip(1);
        let mode = usize::from(fields.next() == Some("kv"));
        let mut cells = [0.0; 8];
        for (cell, field) in cells.iter_mut().zip(fields) {
            *cell = field.parse().unwrap();
        }
        table[mode].push(cells);
    }
    table
}

/// One level of a mode, over all seeds.
#[derive(Clone, Copy, Default)]
struct Summary {
    mean: [f64; 8],
    /// Standard deviation between seeds.
    deviation: [f64; 8],
    spread: f64,
    full: f64,
    waiting: usize,
}

/// Both tables.
pub(crate) struct Comparison {
    measured: Measured,
    simulated: [Vec<Summary>; 2],
    seeds: usize,
}

impl Comparison {
    /// Compares `sweeps` with what was measured.
    pub(crate) fn new(measured: Measured, sweeps: &[Sweep]) -> Self {
        let simulated = MODES.map(|mode| {
            let levels: Vec<&Vec<Level>> = sweeps
                .iter()
                .filter(|sweep| sweep.mode == mode)
                .map(|sweep| &sweep.levels)
                .collect();
            (0..LEVELS.len())
                .map(|level| {
                    Summary::of(&levels.iter().map(|levels| levels[level]).collect::<Vec<_>>())
                })
                .collect()
        });
        Self { measured, simulated, seeds: sweeps.len() / MODES.len() }
    }

    /// Returns the relative errors of a cell, by mode and level.
    fn errors(&self, cell: usize) -> impl Iterator<Item = f64> {
        let modes = self.measured.iter().zip(&self.simulated);
        modes.flat_map(move |(measured, simulated)| {
            measured
                .iter()
                .zip(simulated)
                .map(move |(measured, simulated)| simulated.mean[cell] / measured[cell] - 1.0)
        })
    }

    /// Returns how far cells are off on average; one that is off by half counts no more than that.
    pub(crate) fn mean_error(&self) -> f64 {
        let all: Vec<f64> = (0..CELLS.len()).flat_map(|cell| self.errors(cell)).collect();
        all.iter().map(|error| error.abs().min(0.5)).sum::<f64>() / all.len() as f64
    }

    /// Returns how many levels order the modes as measured, of those that differ.
    fn orders(&self, cell: usize) -> (usize, usize) {
        let mut right = (0, 0);
        for level in 0..LEVELS.len() {
            let measured = self.measured[1][level][cell] - self.measured[0][level][cell];
            let simulated =
                self.simulated[1][level].mean[cell] - self.simulated[0][level].mean[cell];
            if measured != 0.0 {
                right.0 += usize::from(measured.signum() == simulated.signum());
                right.1 += 1;
            }
        }
        right
    }
}

impl Summary {
    fn of(levels: &[Level]) -> Self {
        let count = levels.len().max(1) as f64;
        let mut summary = Self::default();
        for cell in 0..CELLS.len() {
            let mean = levels.iter().map(|level| level.cells[cell]).sum::<f64>() / count;
            let square = levels.iter().map(|level| (level.cells[cell] - mean).powi(2)).sum::<f64>();
            summary.mean[cell] = mean;
            summary.deviation[cell] = (square / (count - 1.0).max(1.0)).sqrt();
        }
        summary.spread = levels.iter().map(|level| level.spread).sum::<f64>() / count;
        summary.full = levels.iter().map(|level| level.full).sum::<f64>() / count;
        summary.waiting = levels.iter().map(|level| level.waiting).max().unwrap_or(0);
        summary
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.totals(out)?;
        for (place, mode) in MODES.iter().enumerate() {
            let name = if *mode == RouterMode::Kv { "KV-aware" } else { "Round-robin" };
            let seeds = self.seeds;
            writeln!(out, "{name}, measured → simulated ± deviation between {seeds} seeds:\n")?;
            self.cells(out, place)?;
            writeln!(out)?;
        }
        self.requests(out)
    }
}

impl Comparison {
    /// Writes how good the simulation is.
    fn totals(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut near = (0, 0);
        let mut ordered = (0, 0);
        writeln!(out, "| | within 15 % | median error | order of the modes right |")?;
        writeln!(out, "|--|--|--|--|")?;
        for (cell, name) in CELLS.iter().enumerate() {
            let mut errors: Vec<f64> = self.errors(cell).map(f64::abs).collect();
            let within = errors.iter().filter(|error| **error <= NEAR).count();
            let (right, differ) = self.orders(cell);
            near = (near.0 + within, near.1 + errors.len());
            ordered = (ordered.0 + right, ordered.1 + differ);
            errors.sort_by(f64::total_cmp);
            let median = errors[errors.len() / 2] * 100.0;
            let all = errors.len();
            writeln!(out, "| {name} | {within} of {all} | {median:.0} % | {right} of {differ} |")?;
        }
        let share = |(part, all): (usize, usize)| 100.0 * part as f64 / all as f64;
        writeln!(
            out,
            "| **all** | **{} of {} ({:.0} %)** | | **{} of {} ({:.0} %)** |\n",
            near.0,
            near.1,
            share(near),
            ordered.0,
            ordered.1,
            share(ordered)
        )
    }

    /// Writes the cells of the mode in `place`.
    fn cells(&self, out: &mut fmt::Formatter<'_>, place: usize) -> fmt::Result {
        writeln!(out, "| users | {} |", CELLS.join(" | "))?;
        writeln!(out, "|--|{}", "--|".repeat(CELLS.len()))?;
        for (level, users) in LEVELS.iter().enumerate() {
            write!(out, "| {users} |")?;
            let summary = &self.simulated[place][level];
            for (cell, name) in CELLS.iter().enumerate() {
                let (was, is) = (self.measured[place][level][cell], summary.mean[cell]);
                let digits = usize::from(*name == "hit %");
                let miss = if (is / was - 1.0).abs() > NEAR { " ✗" } else { "" };
                let deviation = summary.deviation[cell];
                write!(out, " {was} → {is:.digits$} ± {deviation:.digits$}{miss} |")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes how requests were spread over workers.
    fn requests(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "Requests per worker, round-robin / KV-aware:\n")?;
        writeln!(
            out,
            "| users | mean spread between workers | a batch full, % of the time | most waiting |"
        )?;
        writeln!(out, "|--|--|--|--|")?;
        for (level, users) in LEVELS.iter().enumerate() {
            let [even, kv] = [&self.simulated[0][level], &self.simulated[1][level]];
            writeln!(
                out,
                "| {users} | {:.1} / {:.1} | {:.1} / {:.1} | {} / {} |",
                even.spread,
                kv.spread,
                100.0 * even.full,
                100.0 * kv.full,
                even.waiting,
                kv.waiting
            )?;
        }
        Ok(())
    }
}
