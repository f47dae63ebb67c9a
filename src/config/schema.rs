//! The JSON Schema of the config file, made from the table of settings.

use serde_json::{Map, Value, json};

use super::page::Threshold;
use super::setting::{CONTEXT_COLOR, Kind, SETTINGS, Setting};

/// Returns the schema, draft 2020-12; `thresholds` are those of the rules. Unknown keys are errors, as in the file.
pub fn schema(thresholds: &[Threshold]) -> String {
    let mut root = Map::new();
    for setting in SETTINGS {
        match setting.name.split_once('.') {
            None => {
                root.insert(setting.name.to_owned(), property(setting));
            }
            Some((section, key)) => {
                let table = root.entry(section.to_owned()).or_insert_with(|| table(Map::new()));
                if let Some(Value::Object(fields)) = table.get_mut("properties") {
                    fields.insert(key.to_owned(), property(setting));
                }
            }
        }
    }
    let key = json!({
        "description": "One key, a list, or [] for none; `kvtop keys` prints the names of actions.",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    });
    root.insert("keys".to_owned(), json!({"type": "object", "additionalProperties": key}));
    let mut color = Map::new();
    color.insert("color".to_owned(), property(CONTEXT_COLOR));
    let context = table(color);
    root.insert("contexts".to_owned(), json!({"type": "object", "additionalProperties": context}));
    let limits = thresholds.iter().map(|limit| {
        let about = format!("{} ({}; default {}).", limit.meaning, limit.unit, limit.default);
        (limit.name.clone(), json!({"description": about, "type": ["number", "string"]}))
    });
    root.insert("thresholds".to_owned(), table(limits.collect()));
    let mut schema = table(root);
    if let Some(fields) = schema.as_object_mut() {
        let draft = "https://json-schema.org/draft/2020-12/schema";
        fields.insert("$schema".to_owned(), draft.into());
        fields.insert("title".to_owned(), "config.toml of kvtop".into());
    }
    // A value always serializes.
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn table(fields: Map<String, Value>) -> Value {
    let mut table = Map::new();
    table.insert("type".to_owned(), "object".into());
    table.insert("additionalProperties".to_owned(), false.into());
    table.insert("properties".to_owned(), Value::Object(fields));
    Value::Object(table)
}

fn property(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Words(words) => json!({
            "type": "array", "items": {"enum": words}, "minItems": 1, "uniqueItems": true,
        }),
        Kind::Number => json!({"type": ["number", "string"]}),
        Kind::Text
        | Kind::Label
        | Kind::Subject
        | Kind::Time
        | Kind::Size
        | Kind::Url
        | Kind::Keys
        | Kind::Colour => json!({"type": "string"}),
    };
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), format!("{}.", setting.about).into());
        fields.insert("examples".to_owned(), json!([example(setting)]));
    }
    schema
}

fn example(setting: &Setting) -> Value {
    match setting.kind {
        Kind::Flag => Value::Bool(setting.example == "true"),
        Kind::Words(_) => setting.example.split_whitespace().collect(),
        _ => setting.example.into(),
    }
}
