//! Printed commands, applied as an API server applies them.

use serde_json::Value;

use super::objects::Deployment;

/// A patch as a printed command has it.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) config_map: Option<String>,
    operations: Vec<Value>,
}

impl Patch {
    /// Applies it to the object that it names; fails where a test in it does.
    pub(crate) fn apply(&self, object: &mut Value) -> Result<(), String> {
        let mut changed = object.clone();
        for operation in &self.operations {
            operate(&mut changed, operation)?;
        }
        if self.config_map.is_none() {
            let generation = changed["metadata"]["generation"].as_u64().unwrap();
            changed["metadata"]["generation"] = (generation + 1).into();
        }
        *object = changed;
        Ok(())
    }
}

/// Returns the patches of commands, each of which must be one that a shell and an API server understand.
pub(crate) fn patches(commands: &str) -> Vec<Patch> {
    let parts = commands.split(" &&\n").filter(|part| part.contains(" patch "));
    let patch = |part: &str| {
        let (head, quoted) = part.split_once(" --type=json -p ").unwrap();
        let words: Vec<&str> = head.split(' ').collect();
        assert_eq!([words[0], words[1], words[3]], ["kubectl", "-n", "patch"], "{head}");
        let quoted = quoted.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')).unwrap();
        let json = quoted.replace(r"'\''", "'");
        // This parser refuses a key that is there twice.
        let _: Value = serde_saphyr::from_str(&json).unwrap_or_else(|it| panic!("{it}: {json}"));
        let operations: Vec<Value> = serde_json::from_str(&json).unwrap();
        let tests = operations.iter().filter(|it| it["op"] == "test").count();
        assert!(tests > 0, "{json} tests nothing");
        let config_map = (words[4] == "configmap").then(|| words[5].to_owned());
        Patch { config_map, operations }
    };
    parts.map(patch).collect()
}

impl Deployment {
    /// Applies patches; fails where a test in one does.
    pub(super) fn apply(&mut self, patches: &[Patch]) -> Result<(), String> {
        for patch in patches {
            let object = match &patch.config_map {
                None => &mut self.graph,
                Some(name) => {
                    let mut maps = self.maps.iter_mut();
                    maps.find(|map| map["metadata"]["name"] == **name).ok_or("no such ConfigMap")?
                }
            };
            patch.apply(object)?;
        }
        Ok(())
    }
}

/// One operation of RFC 6902.
fn operate(object: &mut Value, operation: &Value) -> Result<(), String> {
    let path = operation["path"].as_str().ok_or("no path")?;
    let value = &operation["value"];
    let missing = || format!("{path} is not there");
    match operation["op"].as_str().unwrap_or_default() {
        "test" if object.pointer(path).unwrap_or(&Value::Null) == value => Ok(()),
        "test" => Err(format!("{path} is not {value}")),
        "replace" => {
            *object.pointer_mut(path).ok_or_else(missing)? = value.clone();
            Ok(())
        }
        op @ ("add" | "remove") => {
            let (parent, key) = path.rsplit_once('/').ok_or_else(missing)?;
            let key = key.replace("~1", "/").replace("~0", "~");
            match (op, object.pointer_mut(parent).ok_or_else(missing)?) {
                ("add", Value::Array(items)) if key == "-" => items.push(value.clone()),
                ("add", Value::Array(items)) => {
                    items.insert(key.parse().map_err(|_| missing())?, value.clone());
                }
                ("add", Value::Object(fields)) => drop(fields.insert(key, value.clone())),
                ("remove", Value::Array(items)) => {
                    let at: usize = key.parse().map_err(|_| missing())?;
                    if at >= items.len() {
                        return Err(missing());
                    }
                    items.remove(at);
                }
                ("remove", Value::Object(fields)) => drop(fields.remove(&key).ok_or_else(missing)?),
                _ => return Err(missing()),
            }
            Ok(())
        }
        other => Err(format!("{other} is no operation")),
    }
}

/// Checks that lines for manifests are YAML, part by part.
pub(super) fn check_lines(yaml: &str) -> Result<(), String> {
    let mut parts = vec![String::new()];
    for line in yaml.lines() {
        if line.starts_with("# ") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.extend([line, "\n"]);
        }
    }
    for part in parts.iter().filter(|part| !part.trim().is_empty()) {
        let read: Result<Value, _> = serde_saphyr::from_str(part);
        read.map_err(|why| format!("{why}: {part}"))?;
    }
    Ok(())
}
