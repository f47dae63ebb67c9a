//! Files of a container that come from a `ConfigMap` or a Secret.

use serde_json::Value;

use super::shell::absolute;
use super::{list, string};

/// The origin of a mounted file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mounted<'a> {
    /// A key of a `ConfigMap`.
    ConfigMap { name: &'a str, key: String },
    /// A key of a Secret.
    Secret { name: &'a str, key: String },
}

/// Returns what the file at `path` in `container` is of, when it is mounted from such a volume.
pub(super) fn mounted<'a>(
    path: &str,
    container: &'a Value,
    volumes: &'a Value,
) -> Option<Mounted<'a>> {
    let path = absolute(path, string(container, "workingDir").unwrap_or("/"));
    let (mount, inside) = list(&container["volumeMounts"])
        .filter_map(|mount| {
            let at = absolute(string(mount, "mountPath")?, "/");
            let rest = path.strip_prefix(&at)?;
            let inside = rest.strip_prefix('/').or(rest.is_empty().then_some(""))?;
            Some((mount, inside.to_owned(), at.len()))
        })
        .max_by_key(|(_, _, length)| *length)
        .map(|(mount, inside, _)| (mount, inside))?;
    let inside = match (string(mount, "subPath"), inside.as_str()) {
        (None | Some(""), _) => inside,
        (Some(sub_path), "") => sub_path.to_owned(),
        (Some(sub_path), inside) => format!("{sub_path}/{inside}"),
    };
    let name = string(mount, "name")?;
    let volume = list(volumes).find(|volume| string(volume, "name") == Some(name))?;
    let projected = list(&volume["projected"]["sources"]);
    std::iter::once(volume).chain(projected).find_map(|source| in_source(source, &inside))
}

fn in_source<'a>(source: &'a Value, inside: &str) -> Option<Mounted<'a>> {
    if let Some(name) = string(&source["configMap"], "name") {
        let key = key_of(&source["configMap"]["items"], inside)?;
        return Some(Mounted::ConfigMap { name, key });
    }
    let secret = &source["secret"];
    let name = string(secret, "secretName").or_else(|| string(secret, "name"))?;
    Some(Mounted::Secret { name, key: key_of(&secret["items"], inside)? })
}

/// Returns the key whose file is at `inside`: the same name, unless the items say otherwise.
fn key_of(items: &Value, inside: &str) -> Option<String> {
    if items.is_array() {
        let item = list(items).find(|item| string(item, "path") == Some(inside))?;
        return string(item, "key").map(str::to_owned);
    }
    (!inside.is_empty() && !inside.contains('/')).then(|| inside.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_traced_to_the_volume_it_is_mounted_from() {
        let container = json!({
            "workingDir": "/workspace",
            "volumeMounts": [
                {"name": "all", "mountPath": "/workspace"},
                {"name": "plain", "mountPath": "/engine/"},
                {"name": "items", "mountPath": "/items"},
                {"name": "plain", "mountPath": "/one.yaml", "subPath": "agg.yaml"},
                {"name": "mixed", "mountPath": "/mixed"},
                {"name": "login", "mountPath": "/login"},
            ],
        });
        let volumes = json!([
            {"name": "all", "emptyDir": {}},
            {"name": "plain", "configMap": {"name": "c"}},
            {"name": "items", "configMap": {"name": "c", "items": [{"key": "k", "path": "d/e.yaml"}]}},
            {"name": "mixed", "projected": {"sources": [{"configMap": {"name": "p"}}]}},
            {"name": "login", "secret": {"secretName": "s"}},
        ]);
        let of_map = |name, key: &str| Some(Mounted::ConfigMap { name, key: key.to_owned() });
        let cases = [
            ("/engine/agg.yaml", of_map("c", "agg.yaml")),
            ("/engine//./x/../agg.yaml", of_map("c", "agg.yaml")),
            ("../engine/agg.yaml", of_map("c", "agg.yaml")),
            ("/items/d/e.yaml", of_map("c", "k")),
            ("/items/other.yaml", None),
            ("/one.yaml", of_map("c", "agg.yaml")),
            ("/mixed/a.yml", of_map("p", "a.yml")),
            ("/login/user.creds", Some(Mounted::Secret { name: "s", key: "user.creds".into() })),
            ("./configs/agg.yaml", None),
            ("/enginex/agg.yaml", None),
            ("", None),
        ];
        for (path, expected) in cases {
            assert_eq!(mounted(path, &container, &volumes), expected, "{path}");
        }
    }
}
