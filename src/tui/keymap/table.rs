//! The table.

use crossterm::event::KeyCode;

use super::{Binding, Context, Key};
use crate::tui::command::{
    Command, Copied, Edit, Past, ReplayCommand, Scroll, Simulate, TreeCommand as Tree, View,
};
use crate::tui::scope::Scope;
use crate::tui::tour::Move;

const fn char(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: false }
}

const fn control(c: char) -> Key {
    Key { code: KeyCode::Char(c), control: true }
}

const fn key(code: KeyCode) -> Key {
    Key { code, control: false }
}

const fn bind(
    keys: &'static [Key],
    shown: &'static str,
    contexts: &'static [Context],
    command: Command,
    help: &'static str,
) -> Binding {
    Binding { keys, shown, contexts, command, help, hint: None }
}

const fn hinted(binding: Binding, hint: &'static str) -> Binding {
    Binding { hint: Some(hint), ..binding }
}

const ALL: &[Context] = &[Context::Everywhere];
const VIEWS: &[Context] = &[Context::Views];
const READ: &[Context] = &[Context::Views, Context::Fleet, Context::Picker];
const HELP: &[Context] = &[Context::Views, Context::Fleet, Context::Help];
const FLEET: &[Context] = &[Context::Fleet];
/// Views, and the fleet above them.
const SHOWN: &[Context] = &[Context::Views, Context::Fleet];
/// Letters are text there.
const IN_HELP: &[Context] = &[Context::Help];
const REPLAY: &[Context] = &[Context::Replay];
const PRESENT: &[Context] = &[Context::UnlessReplay];
const OVERVIEW: &[Context] = &[Context::In(View::Overview)];
/// Views in which Left and Right move in time. In the tree they open and close.
const TIMED: &[Context] = &[
    Context::In(View::Overview),
    Context::In(View::Workers),
    Context::In(View::Routing),
    Context::In(View::Events),
    Context::In(View::Findings),
    Context::In(View::Foresight),
];
/// Views with one list.
const LISTS: &[Context] = &[
    Context::In(View::Workers),
    Context::In(View::Tree),
    Context::In(View::Routing),
    Context::In(View::Events),
    Context::In(View::Findings),
    Context::In(View::Foresight),
    Context::Fleet,
    Context::Picker,
];
const WORKERS: &[Context] = &[Context::InList(View::Workers)];
const ROUTING: &[Context] = &[Context::InList(View::Routing)];
const FINDINGS: &[Context] = &[Context::InList(View::Findings)];
const FORESIGHT: &[Context] = &[Context::InList(View::Foresight)];
/// Views in which one item fills the screen. The key that opened the item closes it.
const OPENED: &[Context] = &[
    Context::InOpened(View::Workers),
    Context::InOpened(View::Routing),
    Context::InOpened(View::Events),
    Context::InOpened(View::Findings),
    Context::InOpened(View::Foresight),
];
const TREE: &[Context] = &[Context::In(View::Tree)];
/// A recording is paused by `p`.
const PIN: &[Context] = &[Context::InUnlessReplay(View::Tree)];
const MENDABLE: &[Context] = &[Context::Mendable];
const DEMO: &[Context] = &[Context::Demo];
const LINE: &[Context] = &[Context::Line];
const TYPED: &[Context] = &[Context::Line, Context::Filter, Context::Help];
const FILTERED: &[Context] = &[
    Context::InList(View::Workers),
    Context::InList(View::Routing),
    Context::In(View::Events),
    Context::InList(View::Findings),
];
/// Keys that lead to the list first.
const UNFILTERED: &[Context] = &[
    Context::In(View::Overview),
    Context::InOpened(View::Workers),
    Context::InOpened(View::Routing),
    Context::InOpened(View::Findings),
];
const EVENTS: &[Context] = &[Context::In(View::Events)];
const EVENT_LIST: &[Context] = &[Context::InList(View::Events)];

const fn replay(
    keys: &'static [Key],
    shown: &'static str,
    command: ReplayCommand,
    help: &'static str,
) -> Binding {
    bind(keys, shown, REPLAY, Command::Replay(command), help)
}

const fn simulate(
    keys: &'static [Key],
    shown: &'static str,
    what: Simulate,
    help: &'static str,
) -> Binding {
    bind(keys, shown, DEMO, Command::Simulate(what), help)
}

const fn past(keys: &'static [Key], shown: &'static str, by: Past, help: &'static str) -> Binding {
    bind(keys, shown, PRESENT, Command::Past(by), help)
}

const fn step(keys: &'static [Key], shown: &'static str, by: Past, help: &'static str) -> Binding {
    bind(keys, shown, TIMED, Command::Past(by), help)
}

const fn scroll(
    keys: &'static [Key],
    shown: &'static str,
    by: Scroll,
    help: &'static str,
) -> Binding {
    bind(keys, shown, READ, Command::Scroll(by), help)
}

const fn in_help(keys: &'static [Key], shown: &'static str, by: Scroll) -> Binding {
    bind(keys, shown, IN_HELP, Command::Scroll(by), "")
}

const fn tree(
    keys: &'static [Key],
    shown: &'static str,
    command: Tree,
    help: &'static str,
) -> Binding {
    bind(keys, shown, TREE, Command::Tree(command), help)
}

const fn show(
    keys: &'static [Key],
    shown: &'static str,
    view: View,
    help: &'static str,
) -> Binding {
    bind(keys, shown, VIEWS, Command::Show(view), help)
}

const fn look_at(
    keys: &'static [Key],
    shown: &'static str,
    scope: Scope,
    help: &'static str,
) -> Binding {
    bind(keys, shown, VIEWS, Command::LookAt(scope), help)
}

/// Every binding, in the order of help and footer.
pub const BINDINGS: &[Binding] = &[
    hinted(
        bind(&[char('?'), key(KeyCode::F(1))], "?", HELP, Command::ToggleHelp, "toggle help"),
        "help",
    ),
    hinted(bind(&[char(':')], ":", VIEWS, Command::OpenLine, "type a command"), "command"),
    hinted(
        bind(
            &[key(KeyCode::Enter)],
            "Enter",
            FLEET,
            Command::Open,
            "the deployment, with its KV events",
        ),
        "open",
    ),
    // Before the keys of views, which fill the footer of a narrow screen.
    hinted(
        replay(&[char('p')], "p", ReplayCommand::Toggle, "pause the recording, or play on"),
        "pause/play",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            FINDINGS,
            Command::Open,
            "read all of the finding",
        ),
        "read",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            WORKERS,
            Command::Open,
            "everything about the worker",
        ),
        "open",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            FORESIGHT,
            Command::Open,
            "the worker, in the table of workers",
        ),
        "worker",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            ROUTING,
            Command::Open,
            "every term of the decision",
        ),
        "open",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            EVENT_LIST,
            Command::Open,
            "the frame behind the event",
        ),
        "open",
    ),
    hinted(
        bind(
            &[char('P')],
            "P",
            &[Context::In(View::Foresight)],
            Command::Plan,
            "simulate what would help (workers, cache, routing); press again to stop or restart",
        ),
        "plan",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            OPENED,
            Command::Open,
            "back to the list (or Esc)",
        ),
        "back",
    ),
    hinted(
        bind(
            &[char('w')],
            "w",
            &[Context::In(View::Workers)],
            Command::WorkerTree,
            "the tree of the worker alone",
        ),
        "its tree",
    ),
    bind(
        &[char('L')],
        "L",
        &[Context::In(View::Workers)],
        Command::Heard,
        "events, decisions and logs of the worker",
    ),
    hinted(
        bind(
            &[char('/')],
            "/",
            FILTERED,
            Command::OpenFilter,
            "filter; the words are listed below",
        ),
        "filter",
    ),
    bind(&[char('/')], "/", UNFILTERED, Command::OpenFilter, "filter the list"),
    hinted(
        bind(&[char('F')], "F", EVENTS, Command::Follow, "follow the newest, or stop"),
        "follow",
    ),
    hinted(bind(&[char('w')], "w", EVENTS, Command::Wrap, "wrap long texts"), "wrap"),
    hinted(
        bind(&[char('l')], "l", EVENTS, Command::Lines, "log lines as they were written"),
        "logs",
    ),
    hinted(bind(&[char('T')], "T", EVENTS, Command::Times, "times, or ages"), "times"),
    hinted(
        bind(
            &[key(KeyCode::Enter)],
            "Enter",
            &[Context::Filter],
            Command::Edit(Edit::Submit),
            "keep the filter",
        ),
        "keep",
    ),
    hinted(bind(&[char('s')], "s", WORKERS, Command::Sort, "pick the order"), "sort"),
    bind(&[char('S')], "S", WORKERS, Command::SortReversed, "reverse the order"),
    hinted(bind(&[char('c')], "c", WORKERS, Command::Columns, "pick the columns"), "columns"),
    bind(&[char('c')], "c", OVERVIEW, Command::Figures, "pick the figures of the headline"),
    hinted(
        bind(
            &[key(KeyCode::Enter), char(' ')],
            "Enter",
            &[Context::Picker],
            Command::Pick,
            "select",
        ),
        "pick",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter)],
            "Enter",
            TREE,
            Command::Open,
            "open the prefix, or close it; load 50 more of its siblings",
        ),
        "open",
    ),
    tree(&[char('l'), key(KeyCode::Right)], "l", Tree::In, "open, then go down (or arrow)"),
    tree(&[char('h'), key(KeyCode::Left)], "h", Tree::Out, "close, then go up (or arrow)"),
    hinted(tree(&[char('*')], "*", Tree::OpenLevels, "open 3 levels below"), "3 levels"),
    tree(&[char('o')], "o", Tree::OpenAll, "open all below"),
    hinted(
        bind(&[char('/')], "/", TREE, Command::OpenFind, "find a hash, or its first digits"),
        "find",
    ),
    hinted(bind(&[char('s')], "s", TREE, Command::Sort, "pick the order of siblings"), "sort"),
    hinted(tree(&[char('w')], "w", Tree::Worker, "only the prefixes of one worker"), "worker"),
    hinted(tree(&[char('d')], "d", Tree::Describe, "all about the prefix, and back"), "detail"),
    hinted(
        bind(&[char('p')], "p", PIN, Command::Tree(Tree::Pin), "the prefix alone, and back"),
        "pin",
    ),
    tree(&[char('P')], "P", Tree::Pin, "the same, also in a recording"),
    hinted(replay(&[char('.')], ".", ReplayCommand::Step, "play one frame"), "step"),
    hinted(replay(&[char('[')], "[", ReplayCommand::SeekBy(-10), "10 seconds back"), "-10s"),
    hinted(replay(&[char(']')], "]", ReplayCommand::SeekBy(10), "10 seconds ahead"), "+10s"),
    replay(&[char('{')], "{", ReplayCommand::SeekBy(-60), "1 minute back"),
    replay(&[char('}')], "}", ReplayCommand::SeekBy(60), "1 minute ahead"),
    replay(&[char('0')], "0", ReplayCommand::SeekStart, "to the first frame"),
    replay(&[char('$')], "$", ReplayCommand::SeekEnd, "to the last frame"),
    hinted(replay(&[char('<')], "<", ReplayCommand::Slower, "play slower"), "slower"),
    hinted(replay(&[char('>')], ">", ReplayCommand::Faster, "play faster"), "faster"),
    hinted(
        bind(
            &[char('X')],
            "X",
            MENDABLE,
            Command::DemoFix,
            "next step of the demo: the first applies the fix",
        ),
        "step",
    ),
    hinted(
        bind(
            &[key(KeyCode::Enter), char('d')],
            "Enter",
            OVERVIEW,
            Command::Open,
            "more about the panel",
        ),
        "open",
    ),
    hinted(
        bind(&[char(' ')], "Space", VIEWS, Command::ToggleFreeze, "freeze the display"),
        "freeze",
    ),
    hinted(bind(&[key(KeyCode::Tab)], "Tab", VIEWS, Command::FocusNext, "next panel"), "panel"),
    hinted(
        bind(
            &[char('g')],
            "g",
            OVERVIEW,
            Command::NextGraph,
            "timeline: blocks, hits, TTFT, KV, index, decisions",
        ),
        "graph",
    ),
    bind(&[key(KeyCode::BackTab)], "S-Tab", VIEWS, Command::FocusPrevious, "previous panel"),
    hinted(bind(&[char('z')], "z", VIEWS, Command::ToggleZoom, "zoom panel"), "zoom"),
    hinted(
        bind(&[char('+'), char('=')], "+", VIEWS, Command::WindowLonger, "graphs cover more time"),
        "longer",
    ),
    hinted(
        bind(&[char('-')], "-", VIEWS, Command::WindowShorter, "graphs cover less time"),
        "shorter",
    ),
    hinted(
        step(&[key(KeyCode::Left)], "Left", Past::Step(-1), "the cursor one step into the past"),
        "back in time",
    ),
    step(&[key(KeyCode::Right)], "Right", Past::Step(1), "the cursor one step towards now"),
    bind(
        &[key(KeyCode::Left)],
        "Left",
        FLEET,
        Command::Past(Past::Step(-1)),
        "the fleet's past, with --prometheus",
    ),
    bind(
        &[key(KeyCode::Right)],
        "Right",
        FLEET,
        Command::Past(Past::Step(1)),
        "the fleet's past, towards now",
    ),
    bind(&[char('(')], "(", FLEET, Command::Past(Past::Marker(-1)), "to the change before"),
    bind(&[char(')')], ")", FLEET, Command::Past(Past::Marker(1)), "to the next change, or to now"),
    bind(&[char('0')], "0", FLEET, Command::Past(Past::Now), "back to now"),
    bind(&[char('+'), char('=')], "+", FLEET, Command::WindowLonger, "more of the fleet's past"),
    bind(&[char('-')], "-", FLEET, Command::WindowShorter, "less of the fleet's past"),
    bind(&[char('(')], "(", VIEWS, Command::Past(Past::Marker(-1)), "to the marker before"),
    bind(&[char(')')], ")", VIEWS, Command::Past(Past::Marker(1)), "to the next marker, or to now"),
    past(&[char('[')], "[", Past::By(-10), "10 seconds into the past"),
    past(&[char(']')], "]", Past::By(10), "10 seconds towards now"),
    past(&[char('{')], "{", Past::By(-60), "1 minute into the past"),
    past(&[char('}')], "}", Past::By(60), "1 minute towards now"),
    past(&[char('0')], "0", Past::Now, "back to now"),
    hinted(bind(&[char('t')], "t", SHOWN, Command::NextTheme, "next theme"), "theme"),
    bind(&[char('f')], "f", VIEWS, Command::TopFinding, "evidence of the worst finding"),
    bind(&[char('Y')], "Y", VIEWS, Command::Copy(Copied::Fix), "copy the fix of a finding"),
    bind(&[char('C')], "C", VIEWS, Command::Copy(Copied::Kubectl), "copy its kubectl command"),
    bind(&[char('y')], "y", VIEWS, Command::Copy(Copied::Selection), "copy the selected item"),
    hinted(simulate(&[char('>')], ">", Simulate::MoreUsers, "more users at once"), "more load"),
    hinted(simulate(&[char('<')], "<", Simulate::FewerUsers, "fewer users at once"), "less load"),
    hinted(simulate(&[char('R')], "R", Simulate::Mode, "router mode: kv or round-robin"), "mode"),
    hinted(simulate(&[char('W')], "W", Simulate::Worker, "one worker more"), "worker"),
    bind(&[char('N')], "N", DEMO, Command::Tour(Move::Next), "next step of the tour"),
    bind(&[char('B')], "B", DEMO, Command::Tour(Move::Back), "step of the tour before"),
    bind(&[char('Q')], "Q", DEMO, Command::Tour(Move::Toggle), "close or open the tour"),
    look_at(&[char('D')], "D", Scope::Graph, "pick the graph deployment (or :dgd NAME)"),
    look_at(&[char('n')], "n", Scope::Namespace, "pick the namespace (or :ns NAME)"),
    look_at(&[char('x')], "x", Scope::Context, "pick the Kubernetes context (or :ctx NAME)"),
    bind(&[char('m')], "m", SHOWN, Command::ToggleMouse, "mouse on or off (Shift selects text)"),
    bind(&[char('e')], "e", VIEWS, Command::OpenExport, "write the view into a file"),
    bind(&[char('b')], "b", VIEWS, Command::ToggleBanner, "collapse or expand the verdict"),
    bind(
        &[key(KeyCode::Backspace)],
        "Backspace",
        VIEWS,
        Command::PreviousView,
        "the view before this one",
    ),
    show(&[char('1')], "1", View::Overview, "the overview"),
    show(&[char('2')], "2", View::Workers, "workers, and everything about one"),
    show(&[char('3')], "3", View::Tree, "the tree of cached prefixes"),
    show(&[char('4')], "4", View::Routing, "decisions of the router, and their costs"),
    show(&[char('5')], "5", View::Events, "everything that happens"),
    show(&[char('6')], "6", View::Findings, "findings and checks"),
    show(&[char('7')], "7", View::Foresight, "what larger caches or a drain would change"),
    scroll(&[char('j'), key(KeyCode::Down)], "j", Scroll::Down, "down a row (or arrow)"),
    scroll(&[char('k'), key(KeyCode::Up)], "k", Scroll::Up, "up a row (or arrow)"),
    scroll(
        &[key(KeyCode::PageDown), control('d')],
        "PgDn",
        Scroll::PageDown,
        "down a page (Ctrl-D)",
    ),
    scroll(&[key(KeyCode::PageUp), control('u')], "PgUp", Scroll::PageUp, "up a page (Ctrl-U)"),
    bind(
        &[char('g'), key(KeyCode::Home)],
        "g",
        LISTS,
        Command::Scroll(Scroll::Top),
        "to the first row (Home)",
    ),
    bind(&[key(KeyCode::Home)], "Home", OVERVIEW, Command::Scroll(Scroll::Top), ""),
    scroll(
        &[char('G'), key(KeyCode::End)],
        "G",
        Scroll::Bottom,
        "to the last row, and follow (End)",
    ),
    bind(
        &[key(KeyCode::Esc)],
        "Esc",
        &[Context::Views, Context::Help, Context::Picker, Context::Line, Context::Filter],
        Command::Back,
        "close the open part; never quits",
    ),
    hinted(bind(&[key(KeyCode::Enter)], "Enter", IN_HELP, Command::Pick, "run it"), "run"),
    in_help(&[key(KeyCode::Down)], "Down", Scroll::Down),
    in_help(&[key(KeyCode::Up)], "Up", Scroll::Up),
    in_help(&[key(KeyCode::PageDown), control('d')], "PgDn", Scroll::PageDown),
    in_help(&[key(KeyCode::PageUp)], "PgUp", Scroll::PageUp),
    in_help(&[key(KeyCode::Home)], "Home", Scroll::Top),
    in_help(&[key(KeyCode::End)], "End", Scroll::Bottom),
    bind(&[control('l')], "Ctrl-L", ALL, Command::Redraw, "draw everything anew"),
    bind(&[control('z')], "Ctrl-Z", ALL, Command::Suspend, "suspend; `fg` continues"),
    hinted(bind(&[char('q')], "q", READ, Command::Quit, "quit (or Ctrl-C)"), "quit"),
    bind(&[control('c')], "Ctrl-C", ALL, Command::Quit, ""),
    bind(&[key(KeyCode::Down)], "Down", LINE, Command::Scroll(Scroll::Down), ""),
    bind(&[key(KeyCode::Up)], "Up", LINE, Command::Scroll(Scroll::Up), ""),
    bind(&[key(KeyCode::Enter)], "Enter", LINE, Command::Edit(Edit::Submit), "run the command"),
    bind(&[key(KeyCode::Tab)], "Tab", LINE, Command::Edit(Edit::Complete), "take the suggestion"),
    bind(&[key(KeyCode::Backspace)], "Backspace", TYPED, Command::Edit(Edit::Erase), ""),
    bind(&[control('u')], "Ctrl-U", TYPED, Command::Edit(Edit::Clear), ""),
];
