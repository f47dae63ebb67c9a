//! Reads a crate's modules with `syn` and lists every path that its code names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// One path that some code names, resolved as far as its first segments allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The module whose code names it, from the crate's root.
    pub(super) module: Vec<String>,
    /// True inside `#[cfg(test)]` and `#[test]`.
    pub(super) test: bool,
    /// The file and line.
    pub(super) place: String,
    /// What is named: `crate`, then modules and an item; or an external crate, then its items.
    pub(super) path: Vec<String>,
}

/// The sources of a crate: paths below `src` and their texts.
pub(super) type Files = BTreeMap<PathBuf, String>;

/// Names that one module gives to other paths, by imports and by its child modules.
type Scope = BTreeMap<String, Vec<String>>;

/// Everything that a crate's code names.
#[derive(Default)]
pub(super) struct Crate {
    externals: Vec<String>,
    scopes: BTreeMap<Vec<String>, Scope>,
    raw: Vec<Named>,
    /// Files that no `mod` item reaches.
    pub(super) orphans: Vec<PathBuf>,
}

impl Crate {
    /// Reads the modules below each of `roots`; `externals` are the crates that a path may start with.
    pub(super) fn read(files: &Files, roots: &[&str], externals: &[String]) -> Self {
        let mut read = Self { externals: externals.to_vec(), ..Self::default() };
        let mut seen = Vec::new();
        for root in roots {
            let mut walk = Walk::new(&mut read, files, &mut seen);
            walk.file(Path::new(root), Path::new(""), Vec::new(), false);
        }
        read.orphans = files.keys().filter(|path| !seen.contains(path)).cloned().collect();
        read
    }

    /// Returns every path that starts at the crate's root or at an external crate.
    pub(super) fn named(&self) -> Vec<Named> {
        let resolve = |named: &Named| {
            let path = self.resolve(&named.module, &named.path, 0)?;
            Some(Named { path, ..named.clone() })
        };
        self.raw.iter().filter_map(resolve).collect()
    }

    fn resolve(&self, module: &[String], path: &[String], depth: usize) -> Option<Vec<String>> {
        const ALIASES: usize = 16;
        let (first, rest) = path.split_first()?;
        let from = |base: &[String], rest: &[String]| {
            let root = std::iter::once("crate".to_owned());
            Some(root.chain(base.iter().cloned()).chain(rest.iter().cloned()).collect())
        };
        match first.as_str() {
            "crate" => return from(&[], rest),
            "self" => return from(module, rest),
            "super" => {
                let parent = module.split_last().map_or(&[][..], |(_, parent)| parent);
                // A chain goes on upwards; anything else is looked up from the parent.
                if rest.first().is_some_and(|next| next == "super") {
                    return self.resolve(parent, rest, depth);
                }
                let known = rest.first().and_then(|name| self.scopes.get(parent)?.get(name));
                return match known {
                    Some(known) if depth < ALIASES => {
                        let known: Vec<String> = known
                            .iter()
                            .chain(rest.get(1..).unwrap_or_default())
                            .cloned()
                            .collect();
                        self.resolve(parent, &known, depth + 1)
                    }
                    _ => from(parent, rest),
                };
            }
            _ => {}
        }
        if let Some(known) = self.scopes.get(module).and_then(|scope| scope.get(first))
            && known.first() != Some(first)
            && depth < ALIASES
        {
            let known: Vec<String> = known.iter().chain(rest).cloned().collect();
            return self.resolve(module, &known, depth + 1);
        }
        let external = |name: &String| {
            ["std", "core", "alloc"].contains(&name.as_str()) || self.externals.contains(name)
        };
        external(first).then(|| path.to_vec())
    }
}

struct Walk<'a> {
    read: &'a mut Crate,
    files: &'a Files,
    seen: &'a mut Vec<PathBuf>,
    path: PathBuf,
    /// Where child modules of the present one have their files.
    folder: PathBuf,
    module: Vec<String>,
    test: bool,
}

impl<'a> Walk<'a> {
    fn new(read: &'a mut Crate, files: &'a Files, seen: &'a mut Vec<PathBuf>) -> Self {
        let (path, folder) = (PathBuf::new(), PathBuf::new());
        Self { read, files, seen, path, folder, module: Vec::new(), test: false }
    }

    fn file(&mut self, path: &Path, folder: &Path, module: Vec<String>, test: bool) {
        let Some(source) = self.files.get(path) else {
            panic!("{}: declared by `mod`, but there is no such file", path.display());
        };
        let parsed = syn::parse_file(source).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        self.seen.push(path.to_owned());
        let mut inner = Walk::new(self.read, self.files, self.seen);
        (inner.path, inner.folder) = (path.to_owned(), folder.to_owned());
        (inner.module, inner.test) = (module, test);
        inner.visit_file(&parsed);
    }

    fn note(&mut self, path: Vec<String>, line: usize) {
        let place = format!("src/{}:{line}", self.path.display());
        let module = self.module.clone();
        self.read.raw.push(Named { module, test: self.test, place, path });
    }

    fn scope(&mut self) -> &mut Scope {
        self.read.scopes.entry(self.module.clone()).or_default()
    }

    fn import(&mut self, tree: &syn::UseTree, before: &[String], line: usize) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            syn::UseTree::Path(path) => {
                self.import(&path.tree, &with(path.ident.to_string()), line);
            }
            syn::UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, line);
                }
            }
            syn::UseTree::Glob(_) => self.note(with("*".to_owned()), line),
            syn::UseTree::Name(name) => {
                let name = name.ident.to_string();
                let path = if name == "self" { before.to_vec() } else { with(name) };
                if let Some(last) = path.last().cloned() {
                    self.scope().insert(last, path.clone());
                }
                self.note(path, line);
            }
            syn::UseTree::Rename(alias) => {
                let name = alias.ident.to_string();
                let path = if name == "self" { before.to_vec() } else { with(name) };
                self.scope().insert(alias.rename.to_string(), path.clone());
                self.note(path, line);
            }
        }
    }

    /// Lists the paths in the tokens of a macro: its arguments are not parsed otherwise.
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        use proc_macro2::TokenTree;
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut line) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end(&mut path, line);
                    }
                    line = ident.span().start().line;
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                }
                other => {
                    self.end(&mut path, line);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.end(&mut path, line);
    }

    fn end(&mut self, path: &mut Vec<String>, line: usize) {
        if path.len() > 1 {
            self.note(std::mem::take(path), line);
        }
        path.clear();
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        syn::Meta::Path(path) => path.segments.last().is_some_and(|last| last.ident == "test"),
        syn::Meta::List(list) => {
            list.path.is_ident("cfg") && list.tokens.to_string().starts_with("test")
        }
        syn::Meta::NameValue(_) => false,
    })
}

impl<'ast> Visit<'ast> for Walk<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[syn::Attribute] = match item {
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Mod(it) => &it.attrs,
            syn::Item::Use(it) => &it.attrs,
            syn::Item::Const(it) => &it.attrs,
            syn::Item::Struct(it) => &it.attrs,
            _ => &[],
        };
        let outside = self.test;
        self.test |= is_for_tests(attributes);
        syn::visit::visit_item(self, item);
        self.test = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        let outside = self.test;
        self.test |= is_for_tests(&item.attrs);
        syn::visit::visit_impl_item_fn(self, item);
        self.test = outside;
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        let module: Vec<String> = self.module.iter().cloned().chain([name.clone()]).collect();
        let absolute = std::iter::once("crate".to_owned()).chain(module.clone()).collect();
        self.scope().insert(name.clone(), absolute);
        let folder = self.folder.join(&name);
        if item.content.is_none() {
            self.file(&folder.with_extension("rs"), &folder, module, self.test);
            return;
        }
        let outside = (
            std::mem::replace(&mut self.module, module),
            std::mem::replace(&mut self.folder, folder),
        );
        syn::visit::visit_item_mod(self, item);
        (self.module, self.folder) = outside;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let line = syn::spanned::Spanned::span(item).start().line;
        self.import(&item.tree, &[], line);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        let path = match item.ident.to_string() {
            own if own == "self" => vec!["crate".to_owned()],
            other => vec![other],
        };
        let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name).to_string();
        self.scope().insert(name, path.clone());
        let line = item.ident.span().start().line;
        self.note(path, line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|it| it.ident.to_string()).collect();
        // One name alone is a local one, or an import that was noted.
        if segments.len() > 1 {
            let line = syn::spanned::Spanned::span(path).start().line;
            self.note(segments, line);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {
        // `pub(super)` names who may see an item; it imports nothing.
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.visit_path(&item.path);
        self.tokens(item.tokens.clone());
    }
}
