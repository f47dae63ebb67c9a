//! The cost of routing the selected prefix, and a comparison of the routers' index with kvtop's copy.

use super::Sheet;
use crate::domain::TreeNode;
use crate::snapshot::{TreeDetail, TreeShare};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::{part, width};

impl Sheet<'_> {
    /// Spells out what routing the prefix would cost now.
    pub(super) fn costs(&mut self, detail: &TreeDetail) {
        if detail.shares.iter().all(|share| share.overlap.is_none()) {
            return;
        }
        self.head("If this prefix is routed now");
        self.say("", "weight x prefill + decode = cost", Role::Muted);
        let costs = detail.shares.iter().filter_map(|share| share.cost);
        let lowest = costs.fold(f64::INFINITY, f64::min);
        for share in &detail.shares {
            self.cost(share, lowest);
        }
        if detail.more_shares > 0 {
            let more = text::count(detail.more_shares as u64);
            self.say("", &format!("  and {more} more workers"), Role::Muted);
        }
        if !detail.plain_cost {
            let said = "From 1.6 on routers weigh more than this, and these may.";
            self.say("", said, Role::Muted);
            return;
        }
        if detail.shares.iter().any(|share| share.weight.is_none()) {
            self.say("", "No router has logged its prefill weight.", Role::Muted);
        }
        if detail.shares.iter().any(|share| share.decode.is_none()) {
            self.say("", "No router has logged the active blocks of these workers.", Role::Muted);
        }
    }

    fn cost(&mut self, share: &TreeShare, lowest: f64) {
        let none = || String::from(self.glyphs.none);
        let known =
            |value: Option<u32>| value.map_or_else(none, |value| text::thousands(value.into()));
        let chosen = share.cost.is_some_and(|cost| cost <= lowest);
        let mark = if chosen { self.glyphs.play } else { " " };
        let terms = vec![
            part(format!("{mark} "), Role::Ok),
            part(format!("{} ", text::pad(&share.alias, 4)), Role::Title),
            part(format!("overlap {}", known(share.overlap)), Role::Fg),
            part(format!("  prefill {}", known(share.prefill)), Role::Fg),
        ];
        self.flow(terms, 4);
        let weight = share.weight.map_or_else(none, |weight| format!("{weight:.1}"));
        let decode =
            share.decode.as_ref().map_or_else(none, |decode| format!("{:.1}", decode.value));
        let cost = share.cost.map_or_else(none, |cost| format!("{cost:.1}"));
        let prefill = known(share.prefill);
        let mut sum = vec![
            part(format!("    {weight} x {prefill} + {decode}"), Role::Fg),
            part(format!(" = {cost}"), Role::Fg),
        ];
        let lowest = part("  lowest", Role::Ok);
        if chosen && width(&sum) + width(std::slice::from_ref(&lowest)) <= self.width {
            sum.push(lowest);
        }
        self.flow(sum, 6);
    }

    /// Compares the mirror with what routers said of their own index.
    pub(super) fn agreement(&mut self, detail: &TreeDetail) {
        if matches!(detail.node, TreeNode::Orphans | TreeNode::Detached | TreeNode::Missing(_)) {
            return;
        }
        self.head("Does the router agree?");
        if detail.agreement.is_empty() {
            let told = match self.context.snapshot.router.last_tree_size {
                Some(0) => "The router has only logged size 0, which 0.9 also prints on a miss.",
                _ => "No router has logged the size of its index since it started.",
            };
            let said = format!(
                "{told} Routers up to 1.1 log it with each request for which they find cached blocks."
            );
            self.say("", &format!("{} {said}", self.glyphs.none), Role::Muted);
            return;
        }
        for row in &detail.agreement {
            let (mark, role) = match (row.is_same(), self.context.is_warming()) {
                (true, _) => (self.glyphs.ok, Role::Ok),
                // What kvtop never saw is no fault of anybody.
                (false, true) => (self.glyphs.unknown, Role::Unknown),
                (false, false) => (self.glyphs.warn, Role::Warn),
            };
            let (before, after) = row.mirror;
            let mirror = if before == after {
                text::count(after)
            } else {
                format!("{}-{}", text::count(before.min(after)), text::count(before.max(after)))
            };
            let (alias, router) = (&row.alias, text::count(row.router));
            let mut line = vec![
                part(mark, role),
                part(format!(" {alias}"), Role::Fg),
                part(format!(" router {router}"), Role::Fg),
                part(format!(" index copy {mirror}"), Role::Fg),
            ];
            let off = row.off();
            if off > 0 {
                let within = if row.is_same() { "within" } else { "off by" };
                line.push(part(format!(" {within} {}", text::count(off)), role));
            }
            self.flow(line, 2);
            let age = part(format!("  {}", self.age(row.at)), Role::Muted);
            if let Some(last) = self.lines.last_mut()
                && width(last) + text::width(&age.text) <= self.width
            {
                last.push(age);
            }
        }
    }
}
