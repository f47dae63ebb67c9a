//! The mirror of the router's index.

/// The mirror of the router's index; of what the chosen graph deployment holds, where one was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeSummary {
    /// Blocks over all ranks, as the router would count them, device tier.
    pub accepted_blocks: u64,
    /// Blocks over all ranks as held, device tier.
    pub held_blocks: u64,
    /// Different blocks among the accepted ones, device tier; at most so many where a graph deployment
    /// was chosen, as blocks it has twice are not counted apart.
    pub distinct_blocks: u64,
    /// Missing parents under which refused blocks hang; at most so many where a graph deployment was
    /// chosen.
    pub orphan_roots: u64,
    /// Refused blocks over all ranks that hang in the orphan forest.
    pub orphan_blocks: u64,
    /// Compressed edges, whatever was chosen.
    pub edges: u64,
    /// Estimated memory in bytes.
    pub memory_bytes: u64,
    /// Bound of the memory in bytes.
    pub memory_limit: u64,
    /// Blocks dropped to stay within the bound; more than 0 means that the mirror is incomplete.
    pub shed_blocks: u64,
    /// True while removed workers are still being swept out; distinct counts are upper bounds then.
    pub behind: bool,
    /// Reasons why the mirror may differ from a router's index, for people; empty when it should not.
    pub incomplete: Vec<String>,
}
