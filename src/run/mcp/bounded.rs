//! Answers of bounded size, which say where they were shortened.

use serde_json::{Value, json};

/// Most bytes of an answer.
pub(super) const LIMIT: usize = 96 << 10;

/// Longest lists to try, one after the other, until an answer fits.
const LISTS: [usize; 8] = [500, 200, 100, 50, 20, 10, 3, 1];

/// Most characters of a text inside an answer.
const TEXT: usize = 4_000;

/// Returns `text` as far as it fits.
pub(super) fn text(text: String) -> String {
    if text.len() <= LIMIT {
        return text;
    }
    let mut end = LIMIT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[truncated: {end} of {} bytes]\n", &text[..end], text.len())
}

/// Returns `value` with lists shortened until it fits. Its `truncated` lists where, and how long they were.
pub(super) fn json(value: Value) -> Value {
    if value.to_string().len() <= LIMIT {
        return value;
    }
    for most in LISTS {
        let (mut shorter, mut cuts) = (value.clone(), Vec::new());
        shorten(&mut shorter, most, "", &mut cuts);
        // Many lists may be cut; one place of each kind is enough to know.
        cuts.truncate(20);
        let limit = json!({ "limit_bytes": LIMIT, "lists": cuts });
        match &mut shorter {
            Value::Object(fields) => {
                fields.insert("truncated".to_owned(), limit);
            }
            other => *other = json!({ "items": other.take(), "truncated": limit }),
        }
        if shorter.to_string().len() <= LIMIT {
            return shorter;
        }
    }
    json!({ "error": "the answer is too long; ask for a part of it", "truncated": { "limit_bytes": LIMIT } })
}

fn shorten(value: &mut Value, most: usize, path: &str, cuts: &mut Vec<Value>) {
    match value {
        Value::Array(all) => {
            if all.len() > most {
                cuts.push(json!({ "path": path, "shown": most, "total": all.len() }));
                all.truncate(most);
            }
            let inner = format!("{path}[]");
            for item in all {
                shorten(item, most, &inner, cuts);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                shorten(field, most, &inner, cuts);
            }
        }
        Value::String(text) if text.chars().count() > TEXT => {
            let total = text.chars().count();
            cuts.push(json!({ "path": path, "shown": TEXT, "total": total }));
            *text = text.chars().take(TEXT).collect();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_shortened_and_say_where() {
        let row = json!({ "name": "x".repeat(200), "parts": [1, 2, 3] });
        let short = json!({ "rows": [row.clone()] });
        assert_eq!(json(short.clone()), short);

        let long = json(json!({ "status": "OK", "rows": vec![row; 3_000] }));

        assert!(long.to_string().len() <= LIMIT);
        assert_eq!(long["status"], "OK");
        assert_eq!(long["truncated"]["lists"][0]["total"], 3_000);
        let shown = long["truncated"]["lists"][0]["shown"].as_u64().unwrap();
        assert_eq!(long["rows"].as_array().unwrap().len() as u64, shown);
        let list = json(Value::Array(vec!["y".repeat(100).into(); 5_000]));
        assert!(list["items"].is_array() && list["truncated"].is_object());
        let page = text("\u{fc}".repeat(LIMIT));
        assert!(page.len() < LIMIT + 60 && page.contains("[truncated: "));
    }
}
