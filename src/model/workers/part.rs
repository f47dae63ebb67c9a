//! The part of requests that a worker computes, as routers' choices tell it where nothing else does.

use crate::domain::Role;

/// Costs are printed with three decimals, rounded.
const PRINTED: f64 = 0.001;

/// Choices that tell by their costs which part of requests a worker computes.
const TELLING: u64 = 10;

/// The part of requests that a worker computes, by routers' choices.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Part {
    told: Option<Role>,
    weights: Weights,
    /// Costs of choices by routers that print no weight.
    costs: Costs,
    /// True where these tell that it decodes only.
    has_whole_costs: bool,
}

/// The weights by which routers weighed what a worker has cached.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    /// One above 0.
    above: bool,
    /// 0.
    at_zero: bool,
    /// The part that they tell.
    part: Option<Role>,
}

/// Costs of choices: of prompts weighed, most are no whole number of blocks; blocks of requests that run always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    whole: u64,
    broken: u64,
}

impl Part {
    /// Returns the part, where weights or the choice of a router of prefill workers tell it.
    pub(super) fn known(&self) -> Option<Role> {
        self.told.or(self.weights.part)
    }

    /// Returns the part by costs alone.
    pub(super) fn guessed(&self) -> Option<Role> {
        self.has_whole_costs.then_some(Role::Decode)
    }

    /// Notes that a router of prefill workers chose it.
    pub(super) fn prefills(&mut self) {
        self.told = Some(Role::Prefill);
    }

    /// Notes that a router weighed what it has cached, with `weight`. `splits` is true where the router's process has
    /// one for each part of a request: that of decode workers weighs nothing that is cached (dynamo-llm 0.9,
    /// `kv_router/prefill_router.rs`), but for one request whose prefill failed. A client may ask for the weight 0 too,
    /// of workers that are otherwise weighed with another.
    pub(super) fn weigh(&mut self, weight: f64, splits: bool) {
        let weights = &mut self.weights;
        weights.above |= weight > 0.0;
        weights.at_zero |= weight <= 0.0;
        weights.part = match (weights.above, weights.at_zero) {
            (true, true) => None,
            (true, false) if splits => Some(Role::Prefill),
            (false, true) if splits => Some(Role::Decode),
            _ => weights.part,
        };
    }

    /// Notes the cost at which a router that prints no weight chose it. `others` are those of its other choices,
    /// of workers whose prompts it weighs. Where most of them are no whole numbers of blocks and all of the worker's own
    /// are, no prompt is weighed for it: it only decodes (weight 0; lib/llm of 1.0 and 1.1,
    /// `kv_router/prefill_router.rs`).
    pub(super) fn cost(&mut self, cost: f64, others: &mut Costs) {
        let own = &mut self.costs;
        let is_broken = (cost - cost.round()).abs() > PRINTED;
        if is_broken && own.broken == 0 {
            others.whole += own.whole;
            self.has_whole_costs = false;
        }
        own.note(is_broken);
        if own.broken > 0 {
            others.note(is_broken);
        } else if own.whole >= TELLING && others.broken >= TELLING.max(others.whole) {
            self.has_whole_costs = true;
        }
    }
}

impl Costs {
    fn note(&mut self, is_broken: bool) {
        self.broken += u64::from(is_broken);
        self.whole += u64::from(!is_broken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_prints_two_weights_tells_which_workers_prefill_and_decode() {
        let (mut first, mut second, mut third) =
            (Part::default(), Part::default(), Part::default());
        for _ in 0..3 {
            first.weigh(1.0, true);
            second.weigh(0.0, true);
        }
        assert_eq!(first.known(), Some(Role::Prefill));
        assert_eq!(second.known(), Some(Role::Decode));

        // One request asked for the weight 0, of a worker that is weighed with another.
        third.weigh(1.0, false);
        third.weigh(0.0, true);
        assert_eq!(third.known(), None);
        // A prefill failed, and the decode worker computed it.
        second.weigh(1.0, true);
        assert_eq!(second.known(), None);
    }

    #[test]
    fn costs_tell_a_worker_that_decodes_beside_others_of_the_same_router_only() {
        let (mut first, mut second, mut third) =
            (Part::default(), Part::default(), Part::default());
        let (mut router, mut other) = (Costs::default(), Costs::default());
        for number in 0..TELLING {
            first.cost(number as f64 + 0.438, &mut router);
            second.cost(number as f64, &mut router);
            third.cost(number as f64, &mut other);
        }
        assert_eq!(first.guessed(), None);
        assert_eq!(second.guessed(), Some(Role::Decode));
        assert_eq!(third.guessed(), None);

        second.cost(7.5, &mut router);
        assert_eq!(second.guessed(), None, "it is weighed a prompt after all");
    }
}
