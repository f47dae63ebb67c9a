//! The trail: the views that Enter and other keys led through, so that Esc leads back the same way.

use super::Shell;
use crate::domain::{TreeNode, WorkerId};
use crate::tui::command::View;
use crate::tui::panels::Look;

/// The open parts of all views.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    /// A worker, a prefix, a search, an event and a decision.
    opened: [bool; 5],
    narrowed: Option<WorkerId>,
    root: TreeNode,
    typed: String,
}

impl Place {
    fn new(look: &Look) -> Self {
        Self {
            opened: [
                look.workers.opened,
                look.tree.described,
                look.tree.find.is_some(),
                look.events.opened,
                look.routing.opened,
            ],
            narrowed: look.tree.worker,
            root: look.tree.root,
            typed: look.events.typed.clone(),
        }
    }

    fn restore(&self, look: &mut Look) {
        let [worker, described, _, event, decision] = self.opened;
        look.workers.opened = worker;
        look.tree.described = described;
        look.events.opened = event;
        look.routing.opened = decision;
        look.tree.worker = self.narrowed;
        look.tree.root = self.root;
        look.events.typed.clone_from(&self.typed);
    }
}

/// A view that was left for another one.
#[derive(Clone, Debug)]
pub(super) struct Crumb {
    view: View,
    left: Place,
    /// The open parts when the next view was entered: only there Esc leads back.
    entered: Place,
}

impl Shell {
    /// Shows a view that was asked for by its name: no way leads back from there.
    pub(super) fn visit(&mut self, view: View) {
        self.trail.clear();
        self.show(view);
    }

    /// Shows another view that `before` led to.
    pub(super) fn drill(&mut self, view: View, before: &Look) {
        let from = self.view;
        self.show(view);
        if self.view != from {
            let (left, entered) = (Place::new(before), Place::new(&self.look));
            self.trail.push(Crumb { view: from, left, entered });
        }
    }

    /// Goes one view back on the trail. Returns false where Esc means something else.
    pub(super) fn climb(&mut self) -> bool {
        let here = Place::new(&self.look);
        let Some(crumb) = self.trail.pop_if(|crumb| crumb.entered == here) else { return false };
        crumb.left.restore(&mut self.look);
        self.show(crumb.view);
        true
    }
}
