//! Names that Dynamo, its engines and its operator use, and the releases that read them.
//!
//! Plain tables, and nothing else in the program spells these names: a release that renames a flag is one line
//! here. `docs/reference/dynamo.md` is written from them. Sources: ai-dynamo 0.9.0 to 1.6.1, `frontend/`,
//! `router/`, `trtllm/`, `vllm/`, `sglang/` and `mocker/` (their modules of arguments), dynamo-runtime
//! (`config/environment_names.rs`, `discovery/`), and the operator's `internal/consts/consts.go`.

/// Makes a constant of each name, and the list `ALL` of constant, name and meaning.
macro_rules! names {
    ($($name:ident = $text:literal, $about:literal;)*) => {
        $(#[doc = $about] pub const $name: &str = $text;)*

        /// Every name above: its constant, its text, its meaning.
        pub const ALL: &[(&str, &str, &str)] = &[$((stringify!($name), $text, $about)),*];
    };
}

pub mod engine;
pub mod flag;
pub mod label;
pub mod metric;
mod name;
pub mod part;
pub mod plane;
mod reference;
pub mod release;
pub mod router;
mod setting;
pub mod settings;
pub mod sign;
pub mod variable;

pub use name::Name;
pub use reference::reference;
pub use setting::{Default, Kind, Setting};

/// Returns the name behind `variable::NAME`, `flag::NAME` or `label::NAME`.
pub fn named(placeholder: &str) -> Option<&'static str> {
    let (family, constant) = placeholder.split_once("::")?;
    let families = [("variable", variable::ALL), ("flag", flag::ALL), ("label", label::ALL)];
    let (_, names) = families.into_iter().find(|(name, _)| *name == family)?;
    names.iter().find(|(name, ..)| *name == constant).map(|(_, name, _)| *name)
}

/// Returns `text` with `{variable::NAME}`, `{flag::NAME}` and `{label::NAME}` replaced by the names meant, and
/// `{release::span}` by the known releases.
///
/// Texts that cannot be formatted where they stand, such as the descriptions of findings, name settings so.
/// A placeholder without a name stays as it is; tests of the descriptions fail for one.
pub fn fill(text: &str) -> String {
    let mut filled = text.to_owned();
    for (family, names) in [("variable", variable::ALL), ("flag", flag::ALL), ("label", label::ALL)]
    {
        if !filled.contains(&format!("{{{family}::")) {
            continue;
        }
        for (constant, name, _) in names {
            filled = filled.replace(&format!("{{{family}::{constant}}}"), name);
        }
    }
    filled.replace("{release::span}", &release::span())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_name_stands_once() {
        let all = [variable::ALL, flag::ALL, label::ALL].concat();
        let texts: BTreeSet<&str> = all.iter().map(|(_, text, _)| *text).collect();
        assert_eq!(texts.len(), all.len());
    }

    #[test]
    fn texts_are_filled_with_the_names_they_mean() {
        let text = "Set {variable::ROUTER_MODE}=kv ({flag::ROUTER_MODE} kv), not {other}.";
        assert_eq!(fill(text), "Set DYN_ROUTER_MODE=kv (--router-mode kv), not {other}.");
    }
}
