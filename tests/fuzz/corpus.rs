//! Where mutations start: what the recordings and fixtures of this repository hold.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use serde_json::Value;

use super::mutate::Chance;

/// A frame of a recording: its kind, what it is from, and its payload.
pub(crate) struct Seed {
    pub(crate) kind: String,
    pub(crate) from: Value,
    pub(crate) body: Vec<u8>,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Recordings whose frames are taken: every version, both planes.
const RECORDINGS: [&str; 6] = [
    "0.9.0-dp",
    "0.9.0-mm_trtllm_pub32_eng64",
    "1.0.2-healthy",
    "1.2.1-healthy",
    "1.4.2-healthy",
    "1.6.1-default_healthy",
];

/// Returns the lines of a recording.
pub(crate) fn lines(name: &str) -> Vec<String> {
    let path = fixtures().join(format!("captures/{name}.frames.gz"));
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Returns frames of all recordings, at most `most` of one kind of each.
pub(crate) fn frames(most: usize) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for name in RECORDINGS {
        let mut taken = std::collections::HashMap::<String, usize>::new();
        for line in lines(name).iter().skip(1) {
            let Ok(frame) = serde_json::from_str::<Value>(line) else { continue };
            let Some((kind, from)) = frame["from"].as_object().and_then(|from| from.iter().next())
            else {
                continue;
            };
            let count = taken.entry(kind.clone()).or_default();
            *count += 1;
            if *count > most {
                continue;
            }
            let bytes = |value: &Value| {
                let text = value.as_str()?;
                base64::engine::general_purpose::STANDARD.decode(text).ok()
            };
            let body = match (&frame["text"], &frame["b64"], &frame["parts"]) {
                (Value::String(text), ..) => text.clone().into_bytes(),
                (_, Value::String(_), _) => bytes(&frame["b64"]).unwrap_or_default(),
                (.., Value::Array(parts)) => parts
                    .last()
                    .and_then(|part| bytes(part).or_else(|| bytes(&part["b64"])))
                    .unwrap_or_default(),
                _ => continue,
            };
            seeds.push(Seed { kind: kind.clone(), from: from.clone(), body });
        }
    }
    seeds
}

/// Returns the payloads of the frames of one kind.
pub(crate) fn bodies(kind: &str) -> Vec<Vec<u8>> {
    frames(200).into_iter().filter(|seed| seed.kind == kind).map(|seed| seed.body).collect()
}

/// Returns the files below a folder of fixtures, of at most 32 KiB each.
pub(crate) fn files(folder: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut open = vec![fixtures().join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).unwrap();
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            open.extend(paths);
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.len() <= 32 << 10
        {
            found.push(bytes);
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

/// Returns the objects of Kubernetes lists below a folder.
pub(crate) fn objects(folder: &str) -> Vec<Vec<u8>> {
    let path = fixtures().join("kube").join(folder);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { continue };
        match value["items"].as_array() {
            Some(items) => found.extend(items.iter().map(|item| item.to_string().into_bytes())),
            None => found.push(value.to_string().into_bytes()),
        }
    }
    found.retain(|bytes| bytes.len() <= 32 << 10);
    found
}

/// The size of seeds that are made small, so that an execution takes microseconds.
const SMALL: usize = 900;

/// Returns small objects that are parts of `objects`: members and elements left out by chance. Those that are small
/// stay as they are.
pub(crate) fn small(objects: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut chance = Chance::new(5);
    let mut found = Vec::new();
    for bytes in objects {
        let Ok(whole) = serde_json::from_slice::<Value>(bytes) else { continue };
        for _ in 0..6 {
            let mut value = whole.clone();
            while value.to_string().len() > SMALL {
                leave_out(&mut value, &mut chance);
            }
            found.push(value.to_string().into_bytes());
        }
    }
    found
}

/// Removes one member or element somewhere below `value`; its name stays.
fn leave_out(value: &mut Value, chance: &mut Chance) {
    let count = match value {
        Value::Object(map) => map.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if count == 0 {
        return;
    }
    let at = chance.below(count);
    let deeper = chance.below(8) > 0;
    match value {
        Value::Object(map) => {
            let key = map.keys().nth(at).cloned().unwrap();
            let inner = &mut map[&key];
            if deeper
                && inner.to_string().len() > SMALL / 6
                && (inner.is_object() || inner.is_array())
            {
                leave_out(inner, chance);
            } else if !["kind", "metadata", "name", "containers", "spec"].contains(&&*key) {
                map.shift_remove(&key);
            }
        }
        Value::Array(items) if deeper && items[at].to_string().len() > SMALL / 6 => {
            leave_out(&mut items[at], chance);
        }
        Value::Array(items) => {
            items.remove(at);
        }
        _ => {}
    }
}

/// Returns scrapes of `lines` samples each, of those that kvtop reads and their neighbours.
pub(crate) fn lines_of_metrics(lines: usize) -> Vec<Vec<u8>> {
    let mut pages = bodies("metrics");
    pages.extend(files("wire/prometheus"));
    let mut seeds = std::collections::BTreeSet::new();
    for page in pages {
        let text = String::from_utf8_lossy(&page).into_owned();
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        seeds.extend(samples.chunks(lines).map(|chunk| chunk.join("\n").into_bytes()));
    }
    seeds.into_iter().take(3_000).collect()
}

/// Returns small manifests in block style and in JSON, made from the fixtures of `kvtop lint`.
pub(crate) fn manifests() -> Vec<Vec<u8>> {
    let mut objects = Vec::new();
    for file in files("lint") {
        let text = String::from_utf8_lossy(&file).into_owned();
        for part in text.split("\n---") {
            if let Ok(value) = serde_saphyr::from_str::<Value>(part)
                && value.is_object()
            {
                objects.push(value.to_string().into_bytes());
            }
        }
    }
    let mut found = small(&objects);
    let blocks = found.iter().enumerate().filter(|(at, _)| at % 6 != 0).map(|(_, bytes)| {
        let mut text = String::new();
        block_style(&serde_json::from_slice(bytes).unwrap(), 0, &mut text);
        text.into_bytes()
    });
    found = blocks.collect::<Vec<_>>().into_iter().chain(found.into_iter().step_by(6)).collect();
    found
}

/// Writes a value as YAML in block style; what is not nested as JSON.
fn block_style(value: &Value, indentation: usize, text: &mut String) {
    use std::fmt::Write as _;
    let start = " ".repeat(indentation);
    let nested = |value: &Value| match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let mut entry = |head: String, value: &Value| {
        if nested(value) {
            writeln!(text, "{start}{head}").unwrap();
            block_style(value, indentation + 2, text);
        } else {
            writeln!(text, "{start}{head} {value}").unwrap();
        }
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| entry(format!("{key}:"), value)),
        Value::Array(items) => items.iter().for_each(|value| entry("-".to_owned(), value)),
        other => writeln!(text, "{start}{other}").unwrap(),
    }
}
