//! Environments, by where their variables come from.

use serde_json::json;

use super::*;

fn maps() -> ConfigMaps {
    let map = |pairs: &[(&str, Option<&str>)]| {
        let pair = |(key, value): &(&str, Option<&str>)| {
            (Arc::<str>::from(*key), value.map(Arc::<str>::from))
        };
        Some(Arc::new(pairs.iter().map(pair).collect()))
    };
    ConfigMaps::from([
        ("a".into(), map(&[("MODE", Some("kv")), ("SIZE", Some("16")), ("BIG", None)])),
        ("b".into(), map(&[("SIZE", Some("32")), ("0", Some("x"))])),
        ("gone".into(), None),
    ])
}

fn env(from: &Value, entries: &Value) -> Env {
    let mut env = Env::default();
    env.add_from(from, &maps());
    env.add(entries, &maps(), |_| None);
    env
}

#[test]
fn later_sources_win_and_own_variables_win_over_all() {
    let from = json!([{"configMapRef": {"name": "a"}}, {"configMapRef": {"name": "b"}}]);
    let read = env(&from, &json!([{"name": "MODE", "value": "random"}]));

    assert_eq!((read.plain("MODE"), read.plain("SIZE")), (Some("random"), Some("32")));
    assert_eq!(read.lender("MODE"), None);
    let expected = Lender { config_map: "b".into(), key: "SIZE".into() };
    assert_eq!(read.lender("SIZE"), Some(&expected));
    assert_eq!(read.get("BIG"), Some(&EnvValue::Elsewhere));
    assert_eq!(read.get("0"), None);
    assert_eq!(read.hidden(), None);
}

#[test]
fn a_prefix_stands_before_each_key_and_a_credential_is_not_asked_for() {
    let from = json!([{"prefix": "DYN_ROUTER_", "configMapRef": {"name": "a"}}]);
    assert_eq!(env(&from, &json!([])).plain("DYN_ROUTER_MODE"), Some("kv"));

    let from = json!([{"prefix": "PASSWORD_", "configMapRef": {"name": "a"}}]);
    let key = json!([{"name": "HF_TOKEN", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "MODE"}}}]);
    let read = env(&from, &key);
    assert_eq!(read.get("HF_TOKEN"), Some(&EnvValue::Elsewhere));
    assert_eq!((read.plain("PASSWORD_MODE"), read.sources()), (None, Vec::new()));
}

#[test]
fn one_key_is_read_by_its_reference_and_an_optional_one_may_be_missing() {
    let by = |map: &str, key: &str, optional: bool| {
        json!([{"name": "X", "value": "before"}, {"name": "X", "valueFrom":
            {"configMapKeyRef": {"name": map, "key": key, "optional": optional}}}])
    };
    let none = json!([]);
    assert_eq!(env(&none, &by("b", "SIZE", false)).plain("X"), Some("32"));
    assert_eq!(env(&none, &by("b", "no", true)).plain("X"), Some("before"));
    for (map, key, optional) in [("b", "no", false), ("new", "k", true), ("gone", "k", false)] {
        let read = env(&none, &by(map, key, optional));
        assert_eq!(read.get("X"), Some(&EnvValue::Elsewhere), "{map} {key}");
    }
}

#[test]
fn what_is_not_shown_may_set_anything() {
    let hidden = |name: &str, optional: bool| {
        let from = json!([{"configMapRef": {"name": "a"}},
            {"configMapRef": {"name": name, "optional": optional}}]);
        let read = env(&from, &json!([{"name": "OWN", "value": "1"}]));
        assert_eq!(read.plain("OWN"), Some("1"));
        (read.hidden().is_some(), read.plain("MODE").map(str::to_owned))
    };

    assert_eq!(hidden("new", true), (true, None));
    assert_eq!(hidden("gone", false), (true, None));
    assert_eq!(hidden("gone", true), (false, Some("kv".to_owned())));
}

#[test]
fn a_secret_is_a_reference_and_nothing_else() {
    let entry = json!([{"name": "P", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]);
    let read = env(&json!([{"secretRef": {"name": "all"}}]), &entry);

    let expected = EnvValue::Secret(SecretRef { name: "s".into(), key: "k".into() });
    assert_eq!(read.get("P"), Some(&expected));
    assert_eq!(read.secrets(), [Arc::from("all")]);
}
