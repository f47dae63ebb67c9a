//! The tree explorer over simulated and recorded deployments.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use kvtop::domain::{Timestamp, TreeNode, TreeRow, TreeRowKind};
use kvtop::engine::Engine;
use kvtop::simulator::{Scenario, Simulation};
use kvtop::snapshot::{Answer, Snapshot, TreePage};
use kvtop::tui::command::Action;
use kvtop::tui::shell::Shell;
use kvtop::tui::theme::{Glyphs, Level};

use super::{draw, draw_with, rows, shell, text, theme};
use crate::scenarios::engine;
use crate::support::{captures, frames, played};

const SIZES: [(u16, u16); 4] = [(160, 45), (120, 36), (80, 24), (60, 12)];

/// Somebody in front of the screen.
struct Desk {
    shell: Shell,
    engine: Engine,
    simulation: Option<Box<Simulation>>,
    at: Timestamp,
    size: (u16, u16),
    picture: Snapshot,
}

impl Desk {
    fn new(engine: Engine, simulation: Option<Box<Simulation>>, at: Timestamp) -> Self {
        let mut desk = Self {
            shell: shell(),
            engine,
            simulation,
            at,
            size: (120, 36),
            picture: Snapshot::default(),
        };
        desk.refresh();
        desk.keys("3");
        desk
    }

    fn of(scenario: Scenario) -> Self {
        let (simulation, engine, at) = engine(scenario, 30);
        Self::new(engine, Some(Box::new(simulation)), at)
    }

    /// A recording of which the first part, of so many, is missing.
    fn late(name: &str, part: usize) -> Self {
        let (_, path) = captures().into_iter().find(|(known, _)| known == name).unwrap();
        let all = frames(&path);
        let seen = &all[all.len() / part..];
        Self::new(played(seen).0, None, seen[seen.len() - 1].at)
    }

    /// Makes pictures until there is nothing more to find out.
    fn refresh(&mut self) {
        for _ in 0..100 {
            self.shell.resize(self.size.0, self.size.1, &self.picture);
            let query = self.shell.query(&self.picture);
            self.picture = self.engine.snapshot(&query, self.at);
            if !self.picture.answer.is_unfinished() {
                return;
            }
        }
        panic!("it never ends");
    }

    fn press(&mut self, code: KeyCode) -> Option<Action> {
        let event = KeyEvent::new(code, KeyModifiers::NONE);
        let command = self.shell.command(event, &self.picture)?;
        let action = self.shell.update(command, &self.picture);
        self.refresh();
        action
    }

    fn keys(&mut self, keys: &str) {
        for key in keys.chars() {
            self.press(match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                key => KeyCode::Char(key),
            });
        }
    }

    /// Begins anew at another screen.
    fn sit(&mut self) {
        self.shell = shell();
        self.refresh();
    }

    fn pass(&mut self, seconds: u64) {
        self.at = self.at.after(Duration::from_secs(seconds));
        if let Some(simulation) = &mut self.simulation {
            self.engine.ingest(&simulation.advance(self.at));
        }
        self.engine.settle();
        self.refresh();
    }

    fn page(&self) -> &TreePage {
        let Answer::Tree(page) = &self.picture.answer else { panic!("{:?}", self.picture.answer) };
        page
    }

    fn screen(&mut self, size: (u16, u16)) -> String {
        self.size = size;
        self.refresh();
        draw(&mut self.shell, &self.picture, size)
    }

    /// Returns the line of the selected row.
    fn marked(&mut self) -> String {
        let screen = self.screen((120, 36));
        let line = screen.lines().find(|line| line.starts_with("│ ▌"));
        line.unwrap_or_else(|| panic!("{screen}")).to_owned()
    }
}

#[test]
fn the_tree_of_a_healthy_deployment_at_every_size() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("jlj");
    for size in SIZES {
        insta::assert_snapshot!(format!("tree_healthy_{}x{}", size.0, size.1), desk.screen(size));
    }
    desk.keys("d");
    insta::assert_snapshot!("tree_detail_80x24", desk.screen((80, 24)));
}

#[test]
fn an_empty_tree_says_why() {
    for scenario in [Scenario::Mismatch, Scenario::Silent] {
        let mut desk = Desk::of(scenario);
        for size in [(120, 36), (80, 24), (60, 12)] {
            let name = format!("tree_{}_{}x{}", scenario.name(), size.0, size.1);
            insta::assert_snapshot!(name, desk.screen(size));
        }
    }
}

#[test]
fn refused_blocks_hang_in_a_branch_of_their_own() {
    let mut desk = Desk::late("0.9.0-nohist", 2);
    for size in SIZES {
        let name = format!("tree_orphans_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, desk.screen(size));
    }
    let page = desk.page();
    let missing: Vec<u64> = page
        .rows
        .iter()
        .filter(|row| matches!(row.place.node, TreeNode::Missing(_)))
        .map(|row| row.subtree)
        .collect();
    assert_eq!(missing.len() as u64, desk.picture.tree.orphan_roots);
    assert!(missing.len() > 1 && missing.is_sorted_by(|a, b| a >= b), "{missing:?}");
    desk.keys("Gkl");
    insta::assert_snapshot!("tree_orphan_detail_120x36", desk.screen((120, 36)));
}

#[test]
fn every_recording_is_shown_whole() {
    for (name, path) in captures() {
        let all = frames(&path);
        let mut desk = Desk::new(played(&all).0, None, all[all.len() - 1].at);
        desk.keys("o");
        let tree = &desk.picture.tree;
        let page = desk.page();
        let blocks: u64 = page
            .rows
            .iter()
            .filter(|row| matches!(row.place.node, TreeNode::Block(block) if !block.orphan))
            .map(|row| u64::from(row.blocks))
            .sum();
        assert!(!page.cut && page.first == 0, "{name}");
        if page.rows.len() == page.all {
            assert_eq!(blocks, tree.distinct_blocks, "{name}");
        }
        let sharing = page.sharing.unwrap();
        assert_eq!(sharing.single + sharing.shared, tree.distinct_blocks, "{name}");
        assert_eq!(sharing.duplicates, tree.accepted_blocks - tree.distinct_blocks, "{name}");
    }
}

#[test]
fn keys_open_close_and_walk() {
    // A tree of one page.
    let mut desk = Desk::of(Scenario::Churn);
    assert!(desk.marked().contains("root"), "{}", desk.marked());
    desk.keys("j");
    while !desk.marked().contains("▸") {
        let before = desk.marked();
        desk.keys("j");
        assert_ne!(desk.marked(), before, "some prefix goes on");
    }
    let first = desk.marked();
    assert!(first.contains("edges"), "{first}");

    desk.keys("l");
    assert!(desk.marked().contains("▾"), "{}", desk.marked());
    let parent = desk.page().query.cursor;
    desk.keys("l");
    let at = desk.page().rows.iter().position(|row| Some(row.place) == parent).unwrap();
    let child = desk.page().rows[at + 1].place;
    assert_eq!(desk.page().query.cursor, Some(child));
    desk.press(KeyCode::Left);
    assert!(desk.marked().contains("▾"), "out of a leaf is up: {}", desk.marked());
    desk.press(KeyCode::Left);
    assert!(desk.marked().contains("▸"), "{}", desk.marked());
    desk.keys("\n");
    assert!(desk.marked().contains("▾"), "{}", desk.marked());
    desk.keys("\n");

    desk.keys("g*");
    let deepest = desk.page().rows.iter().map(|row| row.depth).max();
    assert!(deepest >= Some(2), "{deepest:?}");
    desk.keys("jG");
    assert_eq!(desk.page().query.cursor, desk.page().rows.last().map(|row| row.place));
    desk.keys("g");
    assert!(desk.marked().contains("root"));
}

/// More rows are open than a picture has.
#[test]
fn the_last_row_is_reached_at_once_however_many_there_are() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("o");
    let page = desk.page();
    assert!(page.rows.len() < page.all, "{} of {}", page.rows.len(), page.all);
    let near = page.rows.last().unwrap().place;
    desk.keys("G");
    let page = desk.page();
    assert_eq!(page.first + page.rows.len(), page.all);
    let last = page.rows.last().unwrap().place;
    assert_ne!(last, near);
    assert_eq!(page.detail.as_ref().map(|detail| detail.node), Some(last.node));
    let screen = desk.screen((120, 36));
    let above = screen.lines().position(|line| line.starts_with("│ ▌")).unwrap();
    assert!(screen.lines().nth(above + 1).unwrap().contains("──"), "{screen}");
    // From there it goes up, and not back to where it was.
    desk.keys("k");
    let page = desk.page();
    assert_eq!(page.query.cursor, page.rows.get(page.rows.len() - 2).map(|row| row.place));
    desk.keys("g");
    assert!(desk.marked().contains("root"));
}

#[test]
fn a_prefix_can_be_pinned_filtered_ordered_found_and_copied() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("jp");
    let pinned = desk.page().query.root;
    assert_eq!(desk.page().rows[0].place.node, pinned);
    assert!(desk.screen((120, 36)).contains("pinned"));
    desk.press(KeyCode::Esc);
    assert_eq!(desk.page().query.root, TreeNode::Root);

    let before = desk.page().all;
    desk.keys("wjj\n");
    assert!(desk.screen((120, 36)).contains("only w1"), "{}", desk.screen((120, 36)));
    assert!(desk.page().all < before);
    desk.press(KeyCode::Esc);
    assert_eq!(desk.page().all, before);

    desk.keys("sj\n");
    let blocks: Vec<u64> =
        desk.page().rows.iter().filter(|row| row.depth == 1).map(|row| row.subtree).collect();
    assert!(blocks.is_sorted_by(|a, b| a >= b), "{blocks:?}");

    // The last block of a run is within the row that shows the run.
    let run = |row: &&TreeRow| row.last.is_some() && (2..20).contains(&row.blocks);
    let row = desk.page().rows.iter().rfind(run).unwrap().clone();
    let hash = row.last.unwrap().to_string();
    desk.keys("g/");
    desk.keys(&hash[..9]);
    desk.keys("\n");
    let screen = desk.screen((120, 36));
    assert!(screen.contains("match 1 of 1"), "{screen}");
    // A row is called by its first block, so that it is said which one was meant.
    let marked = desk.marked();
    let place = format!("block {}: {}", row.blocks, &hash[..8]);
    assert!(row.blocks > 1 && marked.contains(&place), "{place}: {marked}");
    desk.keys("d");
    let screen = desk.screen((120, 60));
    assert!(screen.contains(&format!("▌ {hash}")), "{screen}");
    desk.press(KeyCode::Esc);
    let Some(Action::Copy { text, .. }) = desk.press(KeyCode::Char('y')) else { panic!() };
    assert!(text.contains(&hash), "{text} {hash}");
    desk.keys("k");
    assert!(!desk.screen((120, 36)).contains("match 1 of 1"));

    desk.keys("/zz\n");
    assert!(desk.screen((120, 36)).contains("is no hash; type one, or its first digits"));
    desk.keys("/ffffffffffffffff\n");
    assert!(desk.screen((120, 36)).contains("no block matches"));
}

#[test]
fn a_prefix_that_was_evicted_is_shown_as_gone_until_one_moves_on() {
    let mut desk = Desk::of(Scenario::Churn);
    desk.keys("G");
    let place = desk.page().query.cursor.unwrap();
    let mut waited = 0;
    while desk.page().rows.iter().all(|row| row.kind != TreeRowKind::Gone) {
        assert!(waited < 300, "{}", desk.screen((120, 36)));
        waited += 5;
        desk.pass(5);
        let selected = desk.page().rows.iter().find(|row| row.place == place);
        assert!(selected.is_some(), "it never just vanishes");
    }
    assert_eq!(desk.page().query.cursor, Some(place));
    let screen = desk.screen((120, 36));
    assert!(screen.contains("is gone") && screen.contains("Nobody has it any more"), "{screen}");
    desk.keys("k");
    assert!(!desk.screen((120, 36)).contains("is gone"));
}

#[test]
fn a_worker_that_left_has_no_tree_and_it_is_said_since_when() {
    let mut desk = Desk::of(Scenario::Mismatch);
    assert!(desk.simulation.as_mut().unwrap().fix());
    let mut waited = 0;
    while desk.picture.workers.iter().all(|row| !row.gone) {
        assert!(waited < 300, "{}", desk.screen((120, 36)));
        waited += 5;
        desk.pass(5);
    }
    desk.pass(65);
    let gone = desk.picture.workers.iter().rfind(|row| row.gone).unwrap();
    let (alias, left) = (gone.alias.clone(), gone.left.unwrap());

    let since = desk.at.since(left).as_secs();
    let clock = kvtop::tui::text::clock(left);
    let said = format!("left {}m{:02}s ago, at {clock}Z", since / 60, since % 60);
    for size in SIZES {
        desk.sit();
        desk.keys("2G");
        let row = desk.screen(size);
        assert!(row.lines().any(|line| line.contains(&format!("▌ ∅ {alias} "))), "{row}");
        desk.keys("w");
        let screen = desk.screen(size);
        let words: Vec<&str> =
            screen.split([' ', '│', '\n']).filter(|word| !word.is_empty()).collect();
        let words = words.join(" ");
        assert!(words.contains(&format!("{alias} {said}, and its blocks with it.")), "{screen}");
        assert!(words.contains("Esc leads back."), "{screen}");
        desk.press(KeyCode::Esc);
        desk.keys("3");
        assert!(desk.page().rows.len() > 1, "{}", desk.screen(size));
    }
    desk.keys("2\n");
    assert!(desk.screen((120, 36)).contains(&format!("it {said}")), "{}", desk.screen((120, 36)));
}

#[test]
fn blocks_that_are_not_known_of_a_graph_are_not_left_out_of_the_title() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.picture.deployment.chosen = Some(String::from("gtc-demo"));
    desk.picture.answer = Answer::Nothing;
    desk.picture.prefixes = None;
    let screen = draw(&mut desk.shell, &desk.picture, (80, 24));
    assert!(screen.contains("only gtc-demo  sort: heat▼ │ — blocks"), "{screen}");
}

#[test]
fn a_worker_without_a_block_in_the_index_is_no_blank_tree() {
    let mut desk = Desk::of(Scenario::Silent);
    let silent = desk.picture.workers.iter().find(|row| row.accepted == 0).unwrap();
    let alias = silent.alias.clone();
    desk.keys(&format!(":worker {alias}\n"));
    let screen = desk.screen((80, 24));
    assert!(screen.contains(&format!("Nothing of {alias} is in the index.")), "{screen}");
}

#[test]
fn tokens_are_told_only_when_the_block_size_is_known() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("j");
    let screen = desk.screen((120, 36));
    assert!(screen.contains("CUM TOK") && screen.contains(" tokens"), "{screen}");
    let Answer::Tree(page) = &mut desk.picture.answer else { panic!() };
    page.block_size = None;
    let screen = draw(&mut desk.shell, &desk.picture, (120, 36));
    assert!(screen.contains("CUM BLK") && !screen.contains(" tokens"), "{screen}");
}

#[test]
fn the_tree_of_one_graph_deployment_says_so() {
    let mut desk = Desk::of(Scenario::Healthy);
    let blocks = format!("{} blocks", desk.picture.tree.distinct_blocks);
    let title =
        |screen: String| screen.lines().find(|it| it.contains("Prefixes")).unwrap().to_owned();
    assert!(title(desk.screen((120, 36))).contains("edges"));
    desk.engine.choose(Some(String::from("gtc-demo")));
    let narrowed = title(desk.screen((120, 36)));
    assert!(narrowed.contains("only gtc-demo") && !narrowed.contains("edges"), "{narrowed}");
    assert!(narrowed.replace(',', "").contains(&blocks), "{narrowed}");
}

#[test]
fn many_ranks_are_counted_instead_of_shown() {
    let mut desk = Desk::of(Scenario::Healthy);
    let Answer::Tree(page) = &mut desk.picture.answer else { panic!() };
    page.rank_count = 40;
    let screen = draw(&mut desk.shell, &desk.picture, (120, 36));
    assert!(screen.contains("2/40"), "{screen}");
}

#[test]
fn the_tree_in_ascii_is_ascii() {
    let theme = theme(Level::Mono, Glyphs::ASCII);
    for mut desk in [Box::new(Desk::of(Scenario::Healthy)), Box::new(Desk::late("0.9.0-nohist", 2))]
    {
        desk.keys("jl");
        for size in [(120, 36), (80, 24), (60, 12), (40, 6), (20, 3)] {
            desk.size = size;
            desk.refresh();
            let screen = text(&draw_with(&mut desk.shell, &desk.picture, size, &theme));
            assert!(screen.is_ascii(), "{size:?}\n{screen}");
        }
    }
}

#[test]
fn marks_of_presence_look_the_same_in_the_selected_row() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("j");
    for level in [Level::Mono, Level::Sixteen] {
        let theme = theme(level, Glyphs::UNICODE);
        let buffer = draw_with(&mut desk.shell, &desk.picture, (120, 36), &theme);
        let reversed = |cell: &ratatui::buffer::Cell| {
            cell.modifier.contains(ratatui::style::Modifier::REVERSED)
        };
        let selected = rows(&buffer).find(|cells| cells[2].symbol() == "▌").unwrap();
        let tree = &selected[2..77];
        let marks: Vec<_> = tree.iter().filter(|cell| cell.symbol() == "█").collect();
        assert_eq!(marks.len(), 2);
        assert!(marks.iter().all(|cell| !reversed(cell)));
        assert!(tree[1..60].iter().all(reversed) && reversed(&tree[71]), "{tree:?}");
    }
}

#[test]
fn costs_are_told_only_where_routers_are_known_to_weigh_so() {
    let told = |name: &str| {
        let (_, path) = captures().into_iter().find(|(known, _)| known == name).unwrap();
        let all = frames(&path);
        let mut desk = Desk::new(played(&all).0, None, all[all.len() - 1].at);
        desk.keys("j");
        let Answer::Tree(page) = &desk.picture.answer else { panic!() };
        let detail = page.detail.clone().unwrap();
        (detail, desk.screen((120, 36)))
    };
    let (detail, screen) = told("0.9.0-healthy");
    assert!(detail.plain_cost && detail.shares.iter().all(|share| share.cost.is_some()));
    assert!(screen.contains("lowest"), "{screen}");

    let (detail, screen) = told("1.6.1-healthy");
    assert!(!detail.plain_cost && detail.shares.iter().all(|share| share.cost.is_none()));
    assert!(screen.contains("From 1.6 on") && !screen.contains("lowest"), "{screen}");
}

#[test]
fn a_held_picture_says_why_the_tree_does_not_open() {
    let mut desk = Desk::of(Scenario::Healthy);
    desk.keys("j \n");
    assert!(desk.screen((120, 36)).contains("the display is frozen"));
    desk.keys(" \n");
    assert!(desk.marked().contains("▾"));
}

#[test]
fn no_number_of_a_prefix_is_cut() {
    let mut desk = Desk::late("0.9.0-nohist", usize::MAX);
    for width in 60..=160 {
        let screen = desk.screen((width, 36));
        for said in screen.split("off by").skip(1) {
            assert!(said.trim_start().starts_with(|c: char| c.is_ascii_digit()), "{screen}");
        }
        // Beside the tree it is narrow.
        assert!(width < 100 || screen.contains("off by"), "{screen}");
        assert!(!screen.contains("by worke "), "{screen}");
    }
}

#[test]
fn no_number_of_the_sums_is_cut() {
    let mut desk = Desk::of(Scenario::Churn);
    for width in 60..=160 {
        let screen = desk.screen((width, 44));
        let sums = screen.lines().find(|line| line.contains("growth/s")).unwrap();
        let sums = sums.split('│').find(|cell| cell.contains("growth/s")).unwrap();
        let (blocks, rest) = sums.split_once("stored").unwrap();
        let (stored, removed) = rest.split_once("removed").unwrap_or_else(|| panic!("{sums}"));
        for said in [blocks, stored, removed] {
            assert!(said.contains(|c: char| c.is_ascii_digit()), "{width}\n{screen}");
        }
    }
}

#[test]
fn a_search_that_finds_nothing_is_told_at_every_size() {
    for size in [(120, 36), (80, 24), (60, 12), (40, 6)] {
        let mut desk = Desk::of(Scenario::Healthy);
        desk.size = size;
        desk.keys("/");
        let typing = desk.screen(size);
        assert!(typing.contains(":find") && !typing.contains("no such command"), "{typing}");
        desk.keys("deadbeef");
        let typing = desk.screen(size);
        assert!(!typing.contains("no such command"), "{typing}");
        desk.keys("\n");
        let screen = desk.screen(size);
        let last = screen.lines().last().unwrap();
        assert!(last.contains("no block matches deadbeef"), "{screen}");
        // Until the search is ended.
        desk.keys("j");
        assert!(!desk.screen(size).contains("no block matches"), "{}", desk.screen(size));
    }
}

#[test]
fn a_worker_leads_to_its_tree_which_counts_its_blocks_alone() {
    for keys in ["2jw", "2j\nw"] {
        let mut desk = Desk::of(Scenario::Healthy);
        desk.keys("2j\n");
        let page = desk.screen((120, 36));
        assert!(page.lines().last().unwrap().contains(" w its tree "), "{page}");
        desk.keys("\u{1b}k");
        desk.keys(keys);
        let worker = desk.picture.workers[1].clone();
        let screen = desk.screen((120, 36));
        let own = kvtop::tui::text::count(worker.accepted);
        assert!(screen.contains(&format!("only {}", worker.alias)), "{screen}");
        assert!(screen.contains(&format!("{own} blocks")), "{screen}");
        let legend = format!("EDGE, SUBTREE: of {} alone", worker.alias);
        assert!(screen.contains(&legend), "{screen}");
        let page = desk.page();
        assert_eq!(page.query.worker, Some(worker.rank.worker));
        assert_eq!(page.rows[0].subtree, worker.accepted);
        assert!(worker.accepted < desk.picture.tree.distinct_blocks);
        let below = page.rows[1..].iter().filter(|row| row.depth == 1).map(|row| row.subtree);
        assert!(below.sum::<u64>() <= worker.accepted);
    }
}
