//! Discovery records of etcd and of files, against a real etcd and a real folder.

mod binary;
mod etcd;
mod folder;

use std::collections::BTreeMap;

use kvtop::frame::{Body, Origin};

use crate::support::frames::Delivered;
use crate::support::{fixture, frames};

/// Returns the records of the recorded deployment, by key, as they were in etcd.
fn records() -> BTreeMap<String, String> {
    records_of("1.6.1-default_healthy")
}

fn records_of(capture: &str) -> BTreeMap<String, String> {
    let mut records = BTreeMap::new();
    for frame in frames(&fixture(&format!("captures/{capture}.frames.gz"))) {
        if let (Origin::Etcd { key, put: true }, Body::Whole(value)) = (&frame.origin, &frame.body)
        {
            records.insert(key.to_string(), String::from_utf8(value.to_vec()).unwrap());
        }
    }
    assert!(records.len() > 10, "{}", records.len());
    records
}

/// Returns what the frames say that is there.
fn state(delivered: &Delivered) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for frame in &delivered.frames {
        let (Origin::Etcd { key, put } | Origin::File { key, put }) = &frame.origin else {
            panic!("{:?}", frame.origin)
        };
        let Body::Whole(value) = &frame.body else { panic!("one part") };
        let value = String::from_utf8(value.to_vec()).unwrap();
        let before = match put {
            true => state.insert(key.to_string(), value.clone()),
            false => state.remove(key.as_ref()),
        };
        assert!(before != Some(value), "{key} was told twice");
    }
    state
}
