//! One screen that watches the whole story.

use kvtop::clock;
use kvtop::domain::Timestamp;
use kvtop::simulator::{RouterMode, Simulation};

use super::fresh::{head, keep, tells, until, verdict};
use super::row;
use super::table::Row;
use crate::support::pty::Pty;
use crate::support::users_cluster::{BAD, GOOD, NAMESPACE, Past, UsersCluster, healthy};

struct Watching {
    cluster: UsersCluster,
    pty: Pty,
    rows: Vec<Row>,
}

impl Watching {
    /// Waits until the screen says what is wanted, and writes down how long it took since `began`.
    fn see(&mut self, step: &'static str, began: Timestamp, wanted: &dyn Fn(&str) -> bool) {
        let mut row = row(step, "screen", "watching");
        let took = until(&self.pty, began, wanted);
        let screen = self.pty.screen(vt100::Screen::contents);
        keep(step, "watching", screen.as_bytes());
        row.verdict = verdict(&screen);
        row.seconds = took.unwrap_or_else(|| clock::now().since(began)).as_secs_f64();
        row.expect(took.is_some(), format!("never seen; at the end: {}", head(&screen)));
        self.rows.push(row);
    }

    fn restart_all(&self) {
        self.cluster.act(|it| {
            for place in 0..3 {
                it.restart_worker(place);
            }
        });
    }
}

fn leads(screen: &str, words: &[&str]) -> bool {
    let head = head(screen);
    words.iter().all(|word| tells(&head, word))
}

fn is_calm(screen: &str) -> bool {
    !["CRITICAL", "WARNING"].iter().any(|word| screen.contains(word))
}

/// Plays the story before one screen.
pub(super) fn story() -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let past = Past::since(std::time::Duration::from_secs(60));
    let cluster = runtime.block_on(UsersCluster::start(healthy(), past));
    let arguments = cluster.arguments(NAMESPACE);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let vars = [("NATS_URL", ""), ("NATS_SERVER", "")];
    let pty = Pty::spawn(env!("CARGO_BIN_EXE_kvtop"), &words, &vars, (140, 40));
    let mut it = Watching { cluster, pty, rows: Vec::new() };

    let began = clock::now();
    it.see("a before the incident", began, &|screen| {
        screen.contains("Workers 3") && is_calm(screen)
    });

    it.cluster.act(|it| it.deploy(&[BAD; 3]));
    it.restart_all();
    let began = clock::now();
    it.see("b incident", began, &|screen| leads(screen, &["CRITICAL", "KVT001"]));

    // The new pods have to be seen at work before anybody mends them.
    std::thread::sleep(std::time::Duration::from_secs(5));
    it.cluster.act(|it| it.deploy(&[GOOD; 3]));
    it.see("d fix applied", clock::now(), &|screen| leads(screen, &["KVT001", "0 of 3"]));

    it.cluster.act(|it| it.restart_worker(0));
    it.see("e one restarted", clock::now(), &|screen| leads(screen, &["KVT001", "1 of 3"]));

    it.cluster.act(|it| {
        it.restart_worker(1);
        it.restart_worker(2);
    });
    let began = clock::now();
    it.see("f recovering", began, &|screen| leads(screen, &["RECOVERING", "KVT001"]));
    // Half a minute of proof is asked for.
    it.see("f resolved", clock::now(), &|screen| verdict(screen) == "RESOLVED KVT001");

    runtime.block_on(it.cluster.restart_router_without_history());
    it.see("g router lost history", clock::now(), &|screen| leads(screen, &["CRITICAL", "KVT007"]));
    std::thread::sleep(std::time::Duration::from_secs(3));
    it.restart_all();
    it.see("g resolved", clock::now(), &|screen| verdict(screen) == "RESOLVED KVT007");

    it.cluster.act(|it| it.switch_mode(RouterMode::RoundRobin));
    it.restart_all();
    it.see("h round-robin", clock::now(), &|screen| screen.contains("KVT005"));
    it.cluster.act(|it| it.switch_mode(RouterMode::Kv));
    it.cluster.act(Simulation::restart_workers);
    it.pty.send("q");
    it.rows
}
