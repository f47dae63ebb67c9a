//! Short names of pods: the shortest end of each name that no other pod has.

use std::collections::{BTreeMap, BTreeSet};

/// Letters and digits of the random parts that Kubernetes gives to names
/// (`k8s.io/apimachinery`, `pkg/util/rand`).
const RANDOM: &str = "bcdfghjklmnpqrstvwxz2456789";

/// Returns the shortest unambiguous form of each pod's name: the end of it that holds at least one word, such
/// as `trtllmworker-x7k2p` of `gtc-demo-0-trtllmworker-x7k2p`.
pub fn short_pod_names<'a>(pods: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, &'a str> {
    let pods: BTreeSet<&str> = pods.into_iter().collect();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for end in pods.iter().flat_map(|pod| ends(pod)) {
        *times.entry(end).or_default() += 1;
    }
    let shortest = |pod: &'a str| ends(pod).find(|end| times.get(end) == Some(&1)).unwrap_or(pod);
    pods.iter().map(|pod| (*pod, shortest(pod))).collect()
}

/// Returns the ends of a name that hold a word, shortest first; the last is the name.
fn ends(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.rmatch_indices('-').map(|(at, _)| at + 1).chain([0]);
    starts.map(|at| &name[at..]).skip_while(move |end| {
        let first = end.split('-').next().unwrap_or(end);
        *end != name && !is_word(first)
    })
}

/// Returns true for parts of a name that somebody chose.
fn is_word(part: &str) -> bool {
    let random = matches!(part.len(), 5 | 8..=10) && part.chars().all(|it| RANDOM.contains(it));
    !random && part.chars().any(|letter| letter.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(pods: &[&'static str]) -> Vec<&'static str> {
        let names = short_pod_names(pods.iter().copied());
        pods.iter().map(|pod| names[pod]).collect()
    }

    #[test]
    fn names_are_shortened_to_a_word_and_what_tells_them_apart() {
        assert_eq!(
            short(&["gtc-demo-0-trtllmworker-fhhcl", "gtc-demo-0-trtllmworker-mj7km"]),
            ["trtllmworker-fhhcl", "trtllmworker-mj7km"]
        );
        assert_eq!(
            short(&["gtc-demo-worker-6d5f9b7c8-x7k2p", "gtc-demo-worker-6d5f9b7c8-z4k2p"]),
            ["worker-6d5f9b7c8-x7k2p", "worker-6d5f9b7c8-z4k2p"]
        );
        assert_eq!(short(&["a-decode-0-1", "a-decode-0-2"]), ["decode-0-1", "decode-0-2"]);
        assert_eq!(short(&["worker-0", "x7k2p"]), ["worker-0", "x7k2p"]);
    }

    #[test]
    fn ends_that_several_have_grow_until_they_differ() {
        assert_eq!(short(&["a-b-worker-0", "c-b-worker-0"]), ["a-b-worker-0", "c-b-worker-0"]);
        assert_eq!(short(&["worker-0", "my-worker-0"]), ["worker-0", "my-worker-0"]);
        assert_eq!(short(&["pod", "pod"]), ["pod", "pod"]);
        assert_eq!(short(&["-", ""]), ["-", ""]);
    }
}
