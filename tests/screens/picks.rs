//! Lists of what can be looked at.

use std::sync::Arc;

use kvtop::domain::{SourceState, Trouble};
use kvtop::snapshot::{ComponentRow, DemoState, Feed, GraphRow, Playback, Snapshot, SourceRow};
use kvtop::tui::command::{Action, Command, Edit, Scroll, View};
use kvtop::tui::scope::{Aim, Notice, Scope};
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
    assert!(draw(&mut shell, &recorded, SIZE).contains("not available in a replay"));
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

fn namespaces() -> Notice {
    let names = ["gtc-demo", "other-team"].map(|name| (name.to_owned(), String::new()));
    Notice::Offer {
        scope: Scope::Namespace,
        names: names.to_vec(),
        now: Some(String::from("gtc-demo")),
        note: String::new(),
    }
}

#[test]
fn namespaces_are_asked_for_and_offered_when_they_are_known() {
    let picture = pictures::healthy();
    let mut shell = shell();

    let asked = shell.update(Command::LookAt(Scope::Namespace), &picture);
    assert_eq!(asked, Some(Action::LookAt(Aim::Namespaces)));
    assert!(!is_open(&mut shell, &picture));
    shell.hear(namespaces());
    insta::assert_snapshot!("namespaces_80x24", draw(&mut shell, &picture, SIZE));
    shell.update(Command::Scroll(Scroll::Down), &picture);
    let action = shell.update(Command::Pick, &picture);
    assert_eq!(action, Some(Action::LookAt(Aim::Namespace(String::from("other-team")))));

    // What was opened meanwhile stays.
    shell.update(Command::OpenLine, &picture);
    shell.hear(namespaces());
    assert!(!is_open(&mut shell, &picture));
    shell.update(Command::Back, &picture);

    // From another namespace graph deployments are offered anew.
    let several = with_graphs(&["a", "b"]);
    shell.note_picture(&several);
    shell.update(Command::Back, &several);
    shell.note_picture(&several);
    assert!(!is_open(&mut shell, &several));
    shell.hear(Notice::Anew);
    shell.note_picture(&several);
    assert!(!is_open(&mut shell, &several));
    shell.hear(Notice::Elsewhere { text: String::from("there"), mark: None });
    shell.note_picture(&several);
    assert!(is_open(&mut shell, &several));
}

#[test]
fn a_name_that_must_be_typed_is_asked_for_with_the_reason() {
    let picture = pictures::healthy();
    let mut shell = shell();

    let why = String::from("no permission to list namespaces; type the name");
    shell.hear(Notice::Type { scope: Scope::Namespace, why });
    let last = |shell: &mut Shell| draw(shell, &picture, SIZE).lines().last().map(str::to_owned);
    let asked = String::from(":ns    no permission to list namespaces; type the name");
    assert_eq!(last(&mut shell).as_deref(), Some(asked.as_str()));
    for letter in "other-team".chars() {
        shell.update(Command::Edit(Edit::Insert(letter)), &picture);
    }
    assert!(last(&mut shell).unwrap().contains("Enter goes to it"));
    let action = shell.update(Command::Edit(Edit::Submit), &picture);
    assert_eq!(action, Some(Action::LookAt(Aim::Namespace(String::from("other-team")))));
}

#[test]
fn a_name_of_a_graph_deployment_is_completed() {
    let picture = with_graphs(&["gtc-demo", "llama-canary"]);
    let mut shell = shell();
    shell.update(Command::OpenLine, &picture);
    for letter in "dgd ll".chars() {
        shell.update(Command::Edit(Edit::Insert(letter)), &picture);
    }
    shell.update(Command::Edit(Edit::Complete), &picture);
    let action = shell.update(Command::Edit(Edit::Submit), &picture);
    let canary = Some(String::from("llama-canary"));
    assert_eq!(action, Some(Action::LookAt(Aim::Graph(canary))));
}

#[test]
fn a_demo_and_a_recording_say_why_there_is_nothing_to_pick() {
    let feeds = [
        (Feed::Replay(Playback::default()), "not available in a replay"),
        (Feed::Demo(DemoState::default()), "not available in the demo"),
    ];
    for (feed, why) in feeds {
        let picture = Snapshot { feed, ..pictures::healthy() };
        for scope in Scope::ALL {
            let mut shell = shell();
            assert_eq!(shell.update(Command::LookAt(scope), &picture), None);
            assert!(draw(&mut shell, &picture, SIZE).contains(why), "{scope:?}");
        }
    }
}

#[test]
fn what_kubernetes_lacks_stands_where_workers_would() {
    let mut picture = pictures::healthy();
    picture.workers = Arc::default();
    let lacks = "no permission: needs list on pods: `kvtop rbac` prints the Role";
    let missing = "dynamographdeployments.nvidia.com is not installed in this cluster";
    let elsewhere = "no Dynamo deployment in namespace nosuch; there is one in gtc-demo: use -n";
    let unreachable = "could not reach the API server";
    let cases = [
        (SourceState::Live, lacks, vec![Trouble::NoPermission { namespace: None }], true),
        (SourceState::Live, elsewhere, vec![Trouble::NoDeployment], true),
        (SourceState::Down, unreachable, Vec::new(), true),
        (SourceState::Live, missing, vec![Trouble::NotInstalled], false),
    ];
    for (state, why, troubles, told) in cases {
        let said = why.to_owned();
        let cluster = SourceRow { state, why: said, troubles, ..pictures::source("kubernetes") };
        picture.sources = vec![cluster, pictures::source("nats")];
        for size in [SIZE, (120, 36)] {
            for view in [View::Overview, View::Workers] {
                let mut shell = shell();
                shell.update(Command::Show(view), &picture);
                let screen = draw(&mut shell, &picture, size);
                // The text is wrapped to the panel.
                let words: Vec<&str> =
                    screen.split([' ', '│', '\n']).filter(|word| !word.is_empty()).collect();
                assert_eq!(words.join(" ").contains(why), told, "{why}: {screen}");
                let header = screen.lines().next().unwrap();
                assert_eq!(header.contains('▲') || header.contains('✗'), told, "{screen}");
            }
        }
    }
}

#[test]
fn the_header_says_why_a_source_is_down_beside_others_that_wait_for_it() {
    let mut picture = pictures::healthy();
    let why = "credentials not accepted by the API server (401): log in again";
    let down = SourceRow {
        state: SourceState::Down,
        why: why.to_owned(),
        ..pictures::source("kubernetes")
    };
    let waits = |name: &str| SourceRow {
        state: SourceState::Connecting,
        why: "nothing to follow yet".to_owned(),
        ..pictures::source(name)
    };
    picture.sources = vec![down, waits("logs"), waits("metrics"), waits("port-forward")];
    let screen = draw(&mut shell(), &picture, (120, 36));
    let header = screen.lines().next().unwrap();
    assert!(header.contains("✗ down credentials not acc"), "{header}");
}
