//! Lists of what can be looked at.

use kvtop::snapshot::{ComponentRow, Feed, GraphRow, Playback, Snapshot};
use kvtop::tui::command::{Action, Command, Edit, Scroll};
use kvtop::tui::scope::Aim;
use kvtop::tui::shell::Shell;

use super::{draw, pictures, shell};

const SIZE: (u16, u16) = (80, 24);

/// Returns a picture of a namespace with these graph deployments.
fn with_graphs(names: &[&str]) -> Snapshot {
    let mut picture = pictures::healthy();
    let component = |name: &str, ready: Option<u64>, replicas: u64| ComponentRow {
        name: name.to_owned(),
        ready,
        replicas: Some(replicas),
        ..ComponentRow::default()
    };
    let graph = |name: &&str| GraphRow {
        name: (*name).to_owned(),
        components: vec![component("Frontend", Some(1), 1), component("Worker", None, 4)],
        ..GraphRow::default()
    };
    picture.deployment.graphs = names.iter().map(graph).collect();
    picture
}

fn is_open(shell: &mut Shell, picture: &Snapshot) -> bool {
    draw(shell, picture, SIZE).contains("Enter picks")
}

fn typed(shell: &mut Shell, line: &str, picture: &Snapshot) -> Option<Action> {
    shell.update(Command::OpenLine, picture);
    for letter in line.chars() {
        shell.update(Command::Edit(Edit::Insert(letter)), picture);
    }
    shell.update(Command::Edit(Edit::Submit), picture)
}

#[test]
fn several_graph_deployments_are_offered_once() {
    let picture = with_graphs(&["gtc-demo", "llama-canary"]);
    let mut shell = shell();

    shell.note_picture(&with_graphs(&["gtc-demo"]));
    assert!(!is_open(&mut shell, &picture));
    shell.note_picture(&picture);
    insta::assert_snapshot!("graphs_80x24", draw(&mut shell, &picture, SIZE));

    // One that comes while the list is open is in it, and what is selected stays.
    shell.update(Command::Scroll(Scroll::Down), &picture);
    let more = with_graphs(&["a-new-one", "gtc-demo", "llama-canary"]);
    shell.note_picture(&more);
    assert!(draw(&mut shell, &more, SIZE).contains("a-new-one"));
    let action = shell.update(Command::Pick, &more);
    assert_eq!(action, Some(Action::LookAt(Aim::Graph(Some(String::from("gtc-demo"))))));

    shell.note_picture(&picture);
    assert!(!is_open(&mut shell, &picture));
}

#[test]
fn nothing_is_offered_over_what_is_open_nor_after_a_choice_nor_of_a_recording() {
    let picture = with_graphs(&["gtc-demo", "llama-canary"]);
    let mut busy = shell();
    busy.update(Command::OpenLine, &picture);
    busy.note_picture(&picture);
    assert!(!is_open(&mut busy, &picture));
    // Afterwards it is.
    busy.update(Command::Back, &picture);
    busy.note_picture(&picture);
    assert!(is_open(&mut busy, &picture));
    // Esc leaves all of them shown.
    assert_eq!(busy.update(Command::Back, &picture), None);
    busy.note_picture(&picture);
    assert!(!is_open(&mut busy, &picture));

    let mut chosen = picture.clone();
    chosen.deployment.chosen = Some(String::from("gtc-demo"));
    let mut shell = shell();
    shell.note_picture(&chosen);
    assert!(!is_open(&mut shell, &chosen));
    assert!(draw(&mut shell, &chosen, SIZE).contains("gtc-demo/gtc-demo"));

    let recorded = Snapshot { feed: Feed::Replay(Playback::default()), ..picture };
    shell.note_picture(&recorded);
    assert!(!is_open(&mut shell, &recorded));
    assert_eq!(typed(&mut shell, "dgd gtc-demo", &recorded), None);
    assert!(draw(&mut shell, &recorded, SIZE).contains("of a live namespace of Kubernetes only"));
}

#[test]
fn names_are_typed_as_well() {
    let picture = with_graphs(&["gtc-demo", "llama-canary"]);
    let mut shell = shell();
    let aim = |name: Option<&str>| Some(Action::LookAt(Aim::Graph(name.map(str::to_owned))));

    assert_eq!(typed(&mut shell, "dgd llama-canary", &picture), aim(Some("llama-canary")));
    assert_eq!(typed(&mut shell, " dgd  all ", &picture), aim(None));
    assert_eq!(typed(&mut shell, "dgd third", &picture), None);
    assert!(
        draw(&mut shell, &picture, SIZE).contains("there are gtc-demo, llama-canary, or `all`")
    );
    assert_eq!(typed(&mut shell, "dgd", &picture), None);
    assert!(is_open(&mut shell, &picture));
    assert_eq!(typed(&mut shell, "dgd", &with_graphs(&[])), None);
}
