//! Everything established so far: workers, claims, decisions, sources, rejects.
//!
//! Fed facts and times; knows no threshold and no clock. Everything in it is bounded, because names
//! and numbers come from outside.

mod arrivals;
mod buckets;
mod capacity_curve;
mod channels;
mod claims;
mod cluster;
mod config_maps;
mod decisions;
mod fractions;
mod hole;
mod homes;
mod latency;
mod missing_parents;
mod numbers;
mod overlaps;
mod rank_block;
mod refused;
mod rejects;
mod request_mix;
mod reuse;
mod reuse_window;
mod reused;
mod router;
mod sources;
mod tally;
mod traffic;
mod versions;
mod workers;

pub use arrivals::Arrivals;
pub use buckets::{Buckets, Slot, Slots, Summed};
pub use capacity_curve::{Avoided, CapacityCurve, LengthBy, Prompts};
pub use channels::Channels;
pub use claims::{Claims, StoredClaim};
pub(crate) use cluster::file_source;
pub use cluster::{Cluster, FileRecord, FileVersion, PodRecord};
pub use config_maps::KnownMaps;
pub use decisions::{DecisionRecord, Decisions, Weighed};
pub use fractions::Fractions;
pub use hole::{Doubt, RankHole};
pub use homes::Homes;
pub use latency::{InFlight, Latencies, Loads, Percentiles};
pub use missing_parents::{MissingParent, MissingParents, Stored, Watch};
pub use numbers::{Numbers, Step};
pub use overlaps::{Counted, Found, Lookup, Lookups, Overlap, OverlapBy, Overlaps, ToldBy};
pub use refused::Refused;
pub use rejects::{RejectLog, RejectRecord};
pub use request_mix::{Mix, RequestMix};
pub use reuse::{Landing, Reuse, SizeByStores};
pub use reuse_window::ReuseWindow;
pub use reused::{CachedTokens, TokenScrapes};
pub use router::{Heard, PodWarnings, Router, SaidModes, Scrapes};
pub use sources::{Reading, SourceRecord, Sources};
pub use tally::{KvTally, Refusals, RequestTally, RouterCounts, RouterTally, Tally};
pub use traffic::Traffic;
pub use versions::{Family, Versions};
pub use workers::{
    Costs, Measured, Owed, RankRecord, RouterLoad, ScrapedRoom, WorkerRecord, Workers,
    pod_worker_id,
};
