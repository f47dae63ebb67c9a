//! Figures of the process itself, as client libraries of Prometheus report them.

use crate::domain::Timestamp;
use crate::report::prometheus::Process;

/// Ticks in a second of what `/proc` counts: the same for every program on Linux.
const TICKS: f64 = 100.0;

/// Size of a page in `/proc/self/stat`.
const PAGE: u64 = 4096;

/// Returns the figures of now, of a process that started at `started`; nothing but that on other systems than Linux.
pub(super) fn figures(started: Timestamp) -> Process {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (cpu_seconds, virtual_bytes, resident_bytes) = of_stat(&stat);
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    Process {
        cpu_seconds,
        resident_bytes,
        virtual_bytes,
        start_seconds: Some(started.0 as f64 / 1e6),
        // The folder that is being read is open as well.
        open_files: std::fs::read_dir("/proc/self/fd")
            .ok()
            .map(|entries| (entries.count() as u64).saturating_sub(1)),
        most_files: limit,
    }
}

/// Returns processor time in seconds, address space and memory in bytes.
fn of_stat(stat: &str) -> (Option<f64>, Option<u64>, Option<u64>) {
    // The name in brackets may hold blanks; what follows begins with the third field.
    let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let cpu = field(14).zip(field(15)).map(|(user, system)| (user + system) as f64 / TICKS);
    (cpu, field(23), field(24).map(|pages| pages * PAGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_process_are_read_behind_a_name_with_blanks_and_brackets() {
        let stat = "7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 999 4096000 10 rest";
        assert_eq!(of_stat(stat), (Some(2.0), Some(4_096_000), Some(40_960)));
        assert_eq!(of_stat(""), (None, None, None));
    }
}
