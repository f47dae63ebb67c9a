//! The folder source.

use std::fs;
use std::path::Path;
use std::time::Duration;

use kvtop::domain::SourceState;
use kvtop::frame::{Frame, Origin};
use kvtop::source::FRAME_BUFFER;
use kvtop::source::files::spawn;

use super::*;
use crate::support::nats_server::Folder;

/// Writes a record as Dynamo names its file: everything but letters and digits is encoded.
pub(super) fn write(folder: &Path, key: &str, value: &str) -> std::path::PathBuf {
    let mut parts = key.splitn(3, '/');
    let bucket = folder.join(parts.next().unwrap()).join(parts.next().unwrap());
    fs::create_dir_all(&bucket).unwrap();
    let letter = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let path = bucket.join(parts.next().unwrap().bytes().map(letter).collect::<String>());
    fs::write(&path, value).unwrap();
    path
}

/// Makes a file as old as one whose process has ended.
fn expire(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let before = fs::metadata(path).unwrap().modified().unwrap() - Duration::from_secs(60);
    file.set_modified(before).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_in_files_come_change_expire_and_go() {
    let folder = Folder::new();
    let all = records();
    let paths: Vec<_> = all.iter().map(|(key, value)| write(folder.path(), key, value)).collect();
    fs::write(folder.path().join("v1/mdc/.tmp_00ff"), "half").unwrap();
    fs::write(folder.path().join("v1/mdc/%zz"), "no key").unwrap();
    write(folder.path(), "v1/secrets/token", "hunter2");
    let (emitter, mut delivered) = Delivered::with_room(FRAME_BUFFER);
    let _handle = spawn(folder.path().to_owned(), emitter);

    delivered.until("every record", |it| state(it) == kept(&all)).await;

    let mut keys = all.keys();
    let mut expected = all.clone();
    let (changed, expired, gone) =
        (keys.next().unwrap(), keys.next().unwrap(), keys.next().unwrap());
    write(folder.path(), changed, "{\"type\":\"Other\"}");
    expire(&paths[1]);
    fs::remove_file(&paths[2]).unwrap();
    expected.insert(changed.clone(), "{\"type\":\"Other\"}".to_owned());
    expected.retain(|key, _| key != expired && key != gone);
    delivered.until("what changed", |it| state(it) == kept(&expected)).await;
    let note = delivered.notes.last().unwrap();
    assert_eq!((note.state, note.dropped), (SourceState::Live, 0));
    // No etcd is there, and none is spoken of.
    let of_files = |frame: &Frame| matches!(frame.origin, Origin::File { .. });
    assert!(delivered.frames.iter().all(of_files));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_that_is_not_there_is_named_and_looked_for() {
    let parent = Folder::new();
    let folder = parent.path().join("store");
    let (emitter, mut delivered) = Delivered::with_room(FRAME_BUFFER);
    let _handle = spawn(folder.clone(), emitter);
    let note = delivered.until_noted("store`: ").await;
    assert_eq!(note.state, SourceState::Down);

    fs::create_dir_all(&folder).unwrap();
    delivered.until_noted("no discovery record of Dynamo is there").await;
    write(&folder, "v1/mdc/a/b/c/1", "{}");
    delivered.until_noted("1 discovery record").await;
}
