//! Pages that tests compare with what the program says, and that `tests/bless` rewrites.

use std::path::Path;

/// Returns true when pages are rewritten, not compared.
pub(crate) fn wanted() -> bool {
    std::env::var_os("KVTOP_BLESS").is_some()
}

/// Compares a generated page with the committed one, or rewrites it.
pub(crate) fn page(path: impl AsRef<Path>, page: &str) {
    let path = path.as_ref();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if wanted() {
        std::fs::write(&file, page).unwrap();
    }
    let known = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == page,
        "{} is stale: run tests/bless and look at the difference",
        path.display()
    );
}
