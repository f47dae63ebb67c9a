//! Meaning never travels as a sentence: nothing searches the words that this program wrote.

use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Expr, ExprMethodCall, ItemFn, ItemMod, Lit, Macro, Member};

/// Fields and variables that hold sentences of this program.
const SENTENCES: &[&str] = &[
    "competing",
    "effect",
    "missing",
    "note",
    "refuted_by",
    "restarts",
    "sentence",
    "source",
    "source_text",
    "summary",
    "verify",
    "why",
];

/// Methods that search a text.
const SEARCHES: &[&str] = &[
    "contains",
    "ends_with",
    "find",
    "rfind",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
];

/// Methods that only change how a text is held.
const VIEWS: &[&str] =
    &["as_deref", "as_ref", "as_str", "clone", "to_lowercase", "to_string", "trim"];

/// Layers that read the words of other programs, which have no types: servers, engines, YAML parsers. The model of
/// sources compares the parts of a note with those of earlier notes, whatever they mean.
const READERS: &[&str] = &["source", "wire", "lint/document.rs", "model/sources.rs"];

/// Returns true for an expression whose last name is that of a sentence.
fn is_sentence(expression: &Expr) -> bool {
    match expression {
        Expr::Field(field) => match &field.member {
            Member::Named(name) => SENTENCES.contains(&name.to_string().as_str()),
            Member::Unnamed(_) => false,
        },
        Expr::Path(path) => {
            path.path.get_ident().is_some_and(|name| SENTENCES.contains(&name.to_string().as_str()))
        }
        Expr::Reference(inner) => is_sentence(&inner.expr),
        Expr::Paren(inner) => is_sentence(&inner.expr),
        Expr::MethodCall(call) if VIEWS.contains(&call.method.to_string().as_str()) => {
            is_sentence(&call.receiver)
        }
        _ => false,
    }
}

/// Returns true for words to search for: a literal, a formatted text or a constant.
fn is_words(expression: &Expr) -> bool {
    match expression {
        Expr::Lit(literal) => matches!(literal.lit, Lit::Str(_)),
        Expr::Reference(inner) => is_words(&inner.expr),
        Expr::Macro(call) => call.mac.path.is_ident("format"),
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_')
        }),
        _ => false,
    }
}

/// The searches in one file.
#[derive(Default)]
struct Searches {
    found: Vec<String>,
    texts_made: usize,
}

impl<'a> Visit<'a> for Searches {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if item.ident != "tests" {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        if !item.attrs.iter().any(|attribute| attribute.path().is_ident("test")) {
            syn::visit::visit_item_fn(self, item);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        let name = call.method.to_string();
        if SEARCHES.contains(&name.as_str())
            && is_sentence(&call.receiver)
            && call.args.iter().any(is_words)
        {
            self.found.push(name);
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.texts_made += usize::from(call.path.is_ident("format"));
    }
}

fn searches(text: &str) -> Searches {
    let mut searches = Searches::default();
    searches.visit_file(&syn::parse_file(text).unwrap());
    searches
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

#[test]
fn nothing_searches_the_sentences_that_this_program_wrote() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in files(&root) {
        let place = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let reader = |of: &&&str| {
            place
                .strip_prefix(**of)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        };
        if READERS.iter().any(|of| reader(&of)) || place.ends_with("tests.rs") {
            continue;
        }
        let found = searches(&std::fs::read_to_string(&file).unwrap()).found;
        wrong.extend(found.into_iter().map(|search| format!("{place}: {search}")));
    }
    assert!(wrong.is_empty(), "give the meaning a type:\n{}", wrong.join("\n"));
}

#[test]
fn rules_make_no_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/diagnose/rules");
    for file in files(&root) {
        let made = searches(&std::fs::read_to_string(&file).unwrap()).texts_made;
        assert_eq!(made, 0, "{}: use phrase!, whose values keep their types", file.display());
    }
}

#[test]
fn a_search_is_noticed_in_every_form() {
    let forms = [
        r#"fn f(row: &Row) -> bool { row.why.contains("log in") }"#,
        r"fn f(row: &Row) -> bool { (&row.summary).as_str().starts_with(EMPTY) }",
        r#"fn f(why: &str) -> bool { why.split_once("; ").is_some() }"#,
        r#"fn f(row: &Row) -> bool { row.why.starts_with(&format!("{} of", 1)) }"#,
        r#"mod inner { fn f(row: &Row) -> bool { row.note.to_string().ends_with("x") } }"#,
    ];
    for form in forms {
        assert_eq!(searches(form).found.len(), 1, "{form}");
    }
    let other =
        r#"fn f(line: &str, all: &[u32]) -> bool { line.contains("x") && all.contains(&1) }"#;
    assert!(searches(other).found.is_empty());
    let tested = r#"#[cfg(test)] mod tests { fn f(why: &str) -> bool { why.contains("x") } }"#;
    assert!(searches(tested).found.is_empty());
}
