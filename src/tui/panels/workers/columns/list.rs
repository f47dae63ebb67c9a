//! One entry for each column, in the order of the table.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a method of `Pen<'_>` is less general than the function that `Spec::new` takes"
)]

use super::{Shown, Spec};
use crate::domain::Tier;
use crate::tui::judge::State;
use crate::tui::panels::workers::cells::{name, plain};
use crate::tui::text;
use crate::tui::theme::Role;
use crate::tui::widgets::canvas::part;

/// Makes [`Col`], with a variant for each entry, and the look-up of its [`Spec`].
macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident = $spec:expr;)*) => {
        /// A column of the table of workers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Col {
            $($(#[$doc])* $name),*
        }

        impl Col {
            /// Every column, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub(super) const fn spec(self) -> &'static Spec {
                match self {
                    $(Self::$name => {
                        const SPEC: Spec = $spec;
                        &SPEC
                    })*
                }
            }
        }
    };
}

#[expect(clippy::unnecessary_wraps, reason = "as `Spec::sorted_by` takes it")]
const fn number(count: u64) -> Option<f64> {
    Some(count as f64)
}

/// Columns of a model's name.
const MODEL: usize = 14;

columns! {
    /// The glyph of the worker's state.
    Mark = Spec::new("", "state", |pen, entry| {
        let state = entry.verdict.state;
        part(state.glyph(pen.glyphs), state.role())
    })
    .shown(Shown::Always)
    .wide(1, 50)
    .left();

    /// Short name and pod.
    Name = Spec::new("WORKER", "short name and pod", |pen, entry| {
        let role = if entry.row.is_away() { Role::Muted } else { Role::Fg };
        part(text::cut_middle(&name(entry.row), pen.name, pen.glyphs.ellipsis), role)
    })
    .shown(Shown::Always)
    .fitting(|widths, _| widths.name, 40)
    .left()
    .sorted()
    // A filter leaves the sums of all.
    .total(|pen| {
        let filtered = !pen.context.look.workers.typed.is_empty();
        part(if filtered { "all workers" } else { "total" }, Role::Title)
    });

    /// The model it serves.
    Model = Spec::new("MODEL", "the model it serves, where there are several", |pen, entry| {
        let model = entry.row.belongs.model.as_deref();
        // Names of models are paths, and the last part tells them apart.
        let name = model.map(|model| model.rsplit('/').next().unwrap_or(model));
        let cut = |name| text::cut_middle(&text::clean(name), MODEL, pen.glyphs.ellipsis);
        pen.known(name.map(cut))
    })
    .shown(Shown::Overview)
    .wide(MODEL, 20)
    .left()
    .when(|snapshot| {
        let mut models = snapshot.workers.iter().filter_map(|row| row.belongs.model.as_deref());
        let first = models.next();
        models.any(|model| Some(model) != first)
    });

    /// The word for the worker's state.
    State = Spec::new("STATE", "its state in a word", |_, entry| {
        part(entry.verdict.word, entry.verdict.state.role())
    })
    .wide(12, 1)
    .left();

    /// The last digits of the worker's id.
    Id = Spec::new("ID", "last 4 digits of the id (full id: Enter)", |pen, entry| {
        let end = entry.row.rank.worker.0 % 10_000;
        part(format!("{}{end:04}", pen.glyphs.ellipsis), Role::Muted)
    })
    .shown(Shown::Workers)
    .fitting(|_, glyphs| 4 + text::width(glyphs.ellipsis), 5)
    .sorted_by(|entry| number(entry.row.rank.worker.0));

    /// Data-parallel rank.
    Rank = Spec::new("DP", "data-parallel rank; shown when there are several", |_, entry| {
        plain(entry.row.rank.dp_rank.0.to_string())
    })
    .shown(Shown::Overview)
    .fitting(|widths, _| widths.rank, 25)
    .when(|snapshot| snapshot.workers.iter().any(|row| row.rank.dp_rank.0 > 0))
    .sorted_by(|entry| Some(f64::from(entry.row.rank.dp_rank.0)));

    /// Tokens per block.
    Size = Spec::new("BLK", "tokens per block; differing sizes are all shown", |pen, entry| pen.block_size(entry))
    .shown(Shown::Overview)
    .fitting(|widths, _| widths.sizes, 23)
    .sorted_by(|entry| {
        let sizes = &entry.row.block_size;
        sizes.proven.or(sizes.publisher).or(sizes.engine).map(f64::from)
    });

    /// Accepted blocks.
    Cached = Spec::new("CACHED", "blocks in the index of a router that saw every event", |pen, entry| {
        plain(pen.least(entry.row.accepted, entry.row.is_whole()))
    })
    .shown(Shown::Overview)
    .wide(7, 9)
    .of_events()
    .sorted_by(|entry| number(entry.row.accepted))
    .total(|pen| plain(pen.least_of_all(pen.context.snapshot.totals.accepted)));

    /// Held blocks.
    Held = Spec::new("HELD", "blocks held, rejected ones included; shown when it differs", |pen, entry| {
        plain(pen.least(entry.row.held, entry.row.is_whole()))
    })
    .shown(Shown::Workers)
    .of_events()
    .when(|snapshot| snapshot.totals.held != snapshot.totals.accepted)
    .wide(7, 7)
    .sorted_by(|entry| number(entry.row.held))
    .total(|pen| plain(pen.least_of_all(pen.context.snapshot.totals.held)));

    /// Change of the accepted blocks.
    Change = Spec::new("", "change of CACHED per second, over 10 s", |pen, entry| {
        pen.known(entry.row.change.map(text::signed))
    })
    .titled(|glyphs| glyphs.change)
    .shown(Shown::Workers)
    .wide(7, 3)
    .measured()
    .sorted_by(|entry| entry.row.change)
    .total(|pen| {
        let present = pen.context.snapshot.workers.iter().filter(|row| !row.gone);
        let sum = present.map(|row| row.change).reduce(|a, b| Some(a? + b?)).flatten();
        pen.known(sum.map(text::signed))
    });

    /// Share of KV blocks in use.
    Kv = Spec::new("KV%", "share of the engine's KV blocks in use", |pen, entry| {
        pen.by_age(entry.row.kv_utilization.as_ref(), |used| pen.usage(used, Some(entry.row)))
    })
    .shown(Shown::Overview)
    .wide(4, 22)
    .measured()
    .sorted_by(|entry| entry.row.kv_utilization.as_ref().map(|used| used.value))
    .total(|pen| pen.usage(pen.context.snapshot.totals.kv_utilization, None));

    /// Blocks stored per second.
    Stores = Spec::new("STORE/s", "blocks stored per second, over 10 s", |pen, entry| {
        pen.stores(entry.row, entry.row.rates.ten_seconds.stored_blocks)
    })
    .shown(Shown::Overview)
    .wide(7, 21)
    .measured()
    .of_events()
    .sorted_by(|entry| Some(entry.row.rates.ten_seconds.stored_blocks))
    .total(|pen| plain(text::short(pen.context.snapshot.totals.rates.ten_seconds.stored_blocks)));

    /// Blocks removed per second.
    Evicts = Spec::new("EVICT/s", "blocks removed per second, over 10 s", |_, entry| {
        plain(text::short(entry.row.rates.ten_seconds.removals))
    })
    .shown(Shown::Workers)
    .wide(7, 20)
    .measured()
    .of_events()
    .sorted_by(|entry| Some(entry.row.rates.ten_seconds.removals))
    .total(|pen| plain(text::short(pen.context.snapshot.totals.rates.ten_seconds.removals)));

    /// Share of rejected stores.
    Orphans = Spec::new(
        "REJ%",
        "stores rejected by kvtop's copy or the router, over 1 min",
        |pen, entry| pen.orphans(entry),
    )
    .shown(Shown::Overview)
    .fitting(|widths, _| widths.orphans, 30)
    .sorted_by(|entry| if entry.row.is_away() { None } else { entry.row.orphan_share })
    .total(|pen| match pen.context.orphans() {
        None => pen.known(None),
        Some((share, State::Ok)) => plain(text::percent(share)),
        Some((share, state)) => part(text::percent(share), state.role()),
    });

    /// The engine's hit rate.
    Hits = Spec::new("HIT%", "prompt tokens found cached, last minute or since start", |pen, entry| {
        pen.by_age(entry.row.hit_rate.as_ref(), |rate| pen.known(rate.map(text::whole_percent)))
    })
    .shown(Shown::Overview)
    .wide(5, 6)
    .measured()
    .sorted_by(|entry| entry.row.hit_rate.as_ref().map(|rate| rate.value));

    /// Requests in flight.
    InFlight = Spec::new("INFLIGHT", "requests running or queued", |pen, entry| {
        pen.count(entry.row.in_flight)
    })
    .shown(Shown::Overview)
    .wide(8, 10)
    .measured()
    .when(|snapshot| snapshot.workers.iter().any(|row| row.in_flight.is_some()))
    .sorted_by(|entry| entry.row.in_flight.and_then(number))
    .total(|pen| pen.sum(|row| row.in_flight));

    /// Requests that the engine computes.
    Running = Spec::new("RUN", "requests that the engine computes", |pen, entry| {
        pen.count(entry.row.in_engine.running)
    })
    .wide(4, 6)
    .measured()
    .when(|snapshot| snapshot.workers.iter().any(|row| row.in_engine.running.is_some()))
    .sorted_by(|entry| entry.row.in_engine.running.and_then(number))
    .total(|pen| pen.sum(|row| row.in_engine.running));

    /// Requests that wait in the engine.
    Waiting = Spec::new("WAIT", "requests that wait in the engine", |pen, entry| {
        pen.count(entry.row.in_engine.waiting)
    })
    .wide(4, 6)
    .measured()
    .when(|snapshot| snapshot.workers.iter().any(|row| row.in_engine.waiting.is_some()))
    .sorted_by(|entry| entry.row.in_engine.waiting.and_then(number))
    .total(|pen| pen.sum(|row| row.in_engine.waiting));

    /// Time in the engine's queue.
    QueueTime = Spec::new(
        "QUEUE p95",
        "time in the engine's queue that 95 % of requests stayed below, over 1 min",
        |pen, entry| pen.known(entry.row.in_engine.queue_time.map(text::latency)),
    )
    .wide(9, 6)
    .measured()
    .when(|snapshot| snapshot.workers.iter().any(|row| row.in_engine.queue_time.is_some()))
    .sorted_by(|entry| entry.row.in_engine.queue_time.map(|time| time.as_secs_f64()));

    /// Requests routed per second.
    Routed = Spec::new("ROUTED/s", "requests routed to it per second, over 1 min", |_, entry| {
        plain(text::short(entry.row.routed_per_second))
    })
    .shown(Shown::Overview)
    .wide(8, 2)
    .measured()
    .of_requests()
    .sorted_by(|entry| Some(entry.row.routed_per_second))
    .total(|pen| {
        // A request of a disaggregated deployment is routed twice: to prefill and to decode.
        let there = pen.context.snapshot.workers.iter().filter(|row| !row.gone);
        plain(text::short(there.map(|row| row.routed_per_second).sum()))
    });

    /// Mean overlap of requests.
    Overlap = Spec::new("OVLP", "mean overlap in blocks of the requests routed to it", |pen, entry| {
        pen.known(entry.row.mean_overlap.map(text::short))
    })
    .shown(Shown::Workers)
    .wide(6, 4)
    .measured()
    .sorted_by(|entry| entry.row.mean_overlap);

    /// Age of the last event.
    Last = Spec::new("LAST", "age of its last KV event", |pen, entry| {
        pen.known(entry.row.last_event.map(|at| pen.context.age(at)))
    })
    .shown(Shown::Overview)
    .wide(4, 8)
    .sorted_by(|entry| entry.row.last_event.map(|at| at.0 as f64))
    .total(|pen| {
        let last = pen.context.snapshot.workers.iter().filter_map(|row| row.last_event).max();
        pen.known(last.map(|at| pen.context.age(at)))
    });

    /// Removed hashes that were not held, per second.
    Unknown = Spec::new("UNKN/s", "removed blocks that were not in the index, per second", |_, entry| {
        plain(text::short(entry.row.rates.ten_seconds.unknown_removals))
    })
    .wide(7, 12)
    .measured()
    .of_events()
    .sorted_by(|entry| Some(entry.row.rates.ten_seconds.unknown_removals))
    .total(|pen| {
        plain(text::short(pen.context.snapshot.totals.rates.ten_seconds.unknown_removals))
    });

    /// Blocks in use.
    Active = Spec::new("ACTIVE", "KV blocks in use", |pen, entry| {
        pen.by_age(entry.row.used_blocks.as_ref(), |used| pen.count(used))
    })
    .wide(7, 12)
    .measured()
    .sorted_by(|entry| entry.row.used_blocks.as_ref().and_then(|used| number(used.value)))
    .total(|pen| pen.sum(|row| row.used_blocks.as_ref().map(|used| used.value)));

    /// Capacity.
    Total = Spec::new("TOTAL", "capacity in KV blocks", |pen, entry| {
        pen.count(entry.row.capacity_blocks.as_ref().map(|capacity| capacity.value))
    })
    .wide(7, 12)
    .measured()
    .sorted_by(|entry| entry.row.capacity_blocks.as_ref().and_then(|blocks| number(blocks.value)))
    .total(|pen| pen.sum(|row| row.capacity_blocks.as_ref().map(|capacity| capacity.value)));

    /// Active blocks by a router's estimate.
    Decode = Spec::new("DECODE", "active blocks (router's estimate)", |pen, entry| {
        pen.by_age(entry.row.load.as_ref(), |load| pen.count(load.map(|load| load.decode_blocks)))
    })
    .wide(7, 12)
    .measured()
    .sorted_by(|entry| entry.row.load.as_ref().and_then(|load| number(load.value.decode_blocks)))
    .total(|pen| pen.sum(|row| row.load.as_ref().map(|load| load.value.decode_blocks)));

    /// Blocks in host memory.
    Host = Spec::new("HOST", "accepted blocks in host memory", |_, entry| {
        plain(text::count(entry.row.tiers[Tier::HostPinned as usize]))
    })
    .of_events()
    .sorted_by(|entry| number(entry.row.tiers[Tier::HostPinned as usize]))
    .total(|pen| plain(pen.tier(Tier::HostPinned)));

    /// Blocks on disk.
    Disk = Spec::new("DISK", "accepted blocks on disk", |_, entry| {
        plain(text::count(entry.row.tiers[Tier::Disk as usize]))
    })
    .of_events()
    .sorted_by(|entry| number(entry.row.tiers[Tier::Disk as usize]))
    .total(|pen| plain(pen.tier(Tier::Disk)));

    /// Number of the last event.
    EventId = Spec::new("EVID", "last event id", |pen, entry| pen.count(entry.row.last_event_id))
        .sorted_by(|entry| entry.row.last_event_id.and_then(number));

    /// Missing events.
    Gaps = Spec::new("GAPS", "missing event ids", |_, entry| {
        let role = if entry.row.missing > 0 { Role::Warn } else { Role::Fg };
        part(text::count(entry.row.missing), role)
    })
    .of_events()
    .sorted_by(|entry| number(entry.row.missing))
    .total(|pen| {
        let missing = pen.context.snapshot.workers.iter().map(|row| row.missing);
        plain(text::count(missing.fold(0, u64::saturating_add)))
    });

    /// Restarts of the pod.
    Restarts = Spec::new("RESTARTS", "restarts of its pod's containers", |pen, entry| {
        pen.count(entry.pod.map(|pod| pod.restarts))
    })
    .wide(8, 11)
    .sorted_by(|entry| entry.pod.and_then(|pod| number(pod.restarts)));

    /// Age of the pod. The youngest comes first.
    Age = Spec::new("AGE", "time since its pod started", |pen, entry| {
        let started = entry.pod.and_then(|pod| pod.started);
        pen.known(started.map(|at| pen.context.age(at)))
    })
    .wide(4, 11)
    .sorted_by(|entry| entry.pod.and_then(|pod| pod.started).map(|at| -(at.0 as f64)));

    /// The worker's role.
    Role = Spec::new("ROLE", "role: worker, prefill, decode", |pen, entry| {
        pen.known(entry.row.role.clone())
    })
    .wide(8, 10)
    .left();

    /// The worker's node.
    Node = Spec::new("NODE", "the node it runs on", |pen, entry| pen.known(entry.row.node.clone()))
        .fitting(|widths, _| widths.node, 10)
        .left();
}
