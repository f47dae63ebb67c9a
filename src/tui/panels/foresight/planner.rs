//! How to ask what a change would bring: simulations take minutes, and run beside the screen.

use ratatui::layout::Rect;

use crate::snapshot::Feed;
use crate::tui::panels::{PanelContext, PanelId};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::Canvas;

const WHAT: &str = "Simulates this deployment with service times fitted to what was seen, and says what would help: \
                    a worker more or less, 1.5 times the KV cache, other overlap weights and temperatures, \
                    round-robin, other block sizes, a drain. Each answer is a range over several simulations, \
                    beside the present, with the most users that the objective allows.";

/// Draws what the planner answers, and its command.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, context: &PanelContext<'_>) {
    let inner = context.frame(canvas, area, PanelId::Planner, "Planner", Vec::new());
    let name = text::clean(&context.snapshot.deployment.label).into_owned();
    let command = match &context.snapshot.feed {
        Feed::Demo(_) => format!("kvtop plan --demo {name}"),
        Feed::Replay(playback) => format!("kvtop plan {}", text::clean(&playback.name)),
        Feed::Live => String::from("kvtop plan, with the options of this screen"),
    };
    canvas.put(inner, 0, 0, &command, Role::Key);
    for (y, line) in (1..).zip(text::wrap(WHAT, inner.width.into())) {
        canvas.put(inner, 0, y, &line, Role::Muted);
    }
}
