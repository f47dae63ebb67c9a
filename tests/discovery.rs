//! Discovery records of etcd and of files, against a real etcd and a real folder.

mod binary;
mod etcd;
mod folder;

use std::collections::BTreeMap;

use kvtop::domain::Timestamp;
use kvtop::frame::{Body, Frame, Origin};

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
    assert!(records.len() >= 10, "{}", records.len());
    records
}

/// Returns what enters a frame of each of these records.
fn kept(records: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let kept = |text: &String| {
        let value = serde_json::from_str(text).unwrap();
        kvtop::wire::kept_of_record(&value).to_string()
    };
    records.iter().map(|(key, text)| (key.clone(), kept(text))).collect()
}

#[test]
fn decoders_read_the_same_in_what_is_kept_of_a_record() {
    for capture in ["0.9.0-healthy", "1.0.2-healthy", "1.3.1-healthy", "1.6.1-default_healthy"] {
        let decoded = |records: &BTreeMap<String, String>| {
            let mut facts = kvtop::wire::Facts::default();
            for (key, value) in records {
                let origin = Origin::Etcd { key: key.as_str().into(), put: true };
                let frame = Frame::new(Timestamp(1), origin, value.clone());
                kvtop::wire::decode(&frame, &mut facts).unwrap();
            }
            facts.other
        };
        let records = records_of(capture);
        let facts = decoded(&records);
        assert!(facts.len() > 5, "{capture}: {}", facts.len());
        assert_eq!(decoded(&kept(&records)), facts, "{capture}");
    }
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
