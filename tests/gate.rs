//! One truth at any moment: every fault, on every event plane, met at five moments by four faces.

mod faces;
mod faults;
mod fixes;
pub(crate) mod play;
mod sockets;
mod table;

use std::sync::Mutex;

use faults::{FAULTS, Fault};
use play::{Moment, Plane, Played};
use table::Row;

/// Returns what was said of one fault on one plane.
fn met(fault: &'static Fault, plane: Plane) -> Row {
    let played = Played::of(fault, plane);
    let cells = Moment::ALL.map(|moment| faces::met(fault, &played, moment));
    Row { fault, plane, cells: cells.into() }
}

#[test]
fn at_every_moment_all_faces_tell_the_one_truth() {
    let planes = || Plane::ALL.into_iter();
    let cases = FAULTS.iter().flat_map(|fault| planes().map(move |plane| (fault, plane)));
    let cases: Vec<_> = cases.filter(|(fault, plane)| fault.planes.contains(plane)).collect();
    let (next, rows) = (Mutex::new(cases.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let case = next.lock().unwrap().next();
                    let Some((fault, plane)) = case else { return };
                    let row = met(fault, *plane);
                    rows.lock().unwrap().push(row);
                }
            });
        }
    });
    table::judge(rows.into_inner().unwrap());
}
