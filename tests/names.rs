//! Dynamo's names stand in `src/dynamo` and nowhere else, and the reference lists them.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use crate::support::{bless, sources};

/// Parts of literals that only `src/dynamo` may hold.
const MARKS: [&str; 7] =
    ["DYN_", "DYNAMO_", "nvidia.com/", "kv-events", "kv_metrics", "v1/mdc", "v1/instances"];

/// Files that name other programs' flags: shells, `env` and `kubectl`.
const OTHER_PROGRAMS: [&str; 3] =
    ["src/wire/kube_object/shell", "src/diagnose/fix", "src/run/terminal/guard.rs"];

/// Literals outside `src/dynamo` that hold a name of Dynamo, with their files.
#[derive(Default)]
struct Literals {
    file: String,
    own: BTreeSet<String>,
    known: BTreeSet<&'static str>,
    found: Vec<String>,
}

impl Literals {
    fn look(&mut self, text: &str) {
        let marks = MARKS.iter().filter(|mark| text.contains(**mark)).map(ToString::to_string);
        let flags = text
            .split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'))
            .filter(|word| word.starts_with("--") && self.known.contains(word))
            .filter(|word| !self.own.contains(*word))
            .map(str::to_owned);
        let flags: Vec<String> = if OTHER_PROGRAMS.iter().any(|start| self.file.starts_with(start))
        {
            Vec::new()
        } else {
            flags.collect()
        };
        self.found
            .extend(marks.chain(flags).map(|name| format!("{}: {name}: {text:?}", self.file)));
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|ident| ident == "test")
    })
}

impl<'ast> Visit<'ast> for Literals {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            visit::visit_item_mod(self, module);
        }
    }

    // Documentation is an attribute; it may name what it explains.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.look(&literal.value());
    }

    fn visit_lit_byte_str(&mut self, literal: &'ast syn::LitByteStr) {
        self.look(&String::from_utf8_lossy(&literal.value()));
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        fn walk(tokens: proc_macro2::TokenStream, look: &mut impl FnMut(&str)) {
            for token in tokens {
                match token {
                    proc_macro2::TokenTree::Group(group) => walk(group.stream(), look),
                    proc_macro2::TokenTree::Literal(literal) => {
                        if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                            look(&text.value());
                        }
                    }
                    _ => {}
                }
            }
        }
        walk(call.tokens.clone(), &mut |text| self.look(text));
    }
}

/// Returns kvtop's own flags.
fn own_flags() -> BTreeSet<String> {
    fn add(command: &clap::Command, flags: &mut BTreeSet<String>) {
        let long = command.get_arguments().filter_map(clap::Arg::get_long);
        flags.extend(long.map(|name| format!("--{name}")));
        for sub in command.get_subcommands() {
            add(sub, flags);
        }
    }
    let mut flags = BTreeSet::new();
    add(&<kvtop::cli::Cli as clap::CommandFactory>::command(), &mut flags);
    flags
}

fn literals_of(file: &str, text: &str) -> Vec<String> {
    let known = kvtop::dynamo::settings::flags().clone();
    let mut literals =
        Literals { file: file.to_owned(), own: own_flags(), known, found: Vec::new() };
    literals.visit_file(&syn::parse_file(text).unwrap());
    literals.found
}

#[test]
fn names_of_dynamo_stand_only_in_its_own_layer() {
    let mut found = Vec::new();
    for (name, text) in sources::files("src") {
        let tests = ["/tests.rs", "/tests/", "against_bash.rs"];
        if name.starts_with("src/dynamo") || tests.iter().any(|part| name.contains(part)) {
            continue;
        }
        found.extend(literals_of(&name, &text));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_name_is_found_wherever_a_literal_stands() {
    let cases = [
        "const A: &str = \"DYN_ROUTER_MODE\";",
        "fn f() -> String { format!(\"set {}=kv or --router-mode kv\", \"x\") }",
        "fn f(label: &str) -> bool { matches!(label, \"nvidia.com/dynamo-component\") }",
        "const A: &[u8] = b\"kv-events\";",
    ];
    for text in cases {
        assert_eq!(literals_of("src/x.rs", text).len(), 1, "{text}");
    }
    let fine = "/// `DYN_ROUTER_MODE`\nfn f() { g(\"--nats-url\") } #[cfg(test)] mod tests { const A: &str = \"DYN_X\"; }";
    assert_eq!(literals_of("src/x.rs", fine), Vec::<String>::new());
}

#[test]
fn the_reference_of_names_is_written_from_the_tables() {
    bless::page("docs/reference/dynamo.md", &kvtop::dynamo::reference());
}
