//! What a release is made of: files for package managers, and the published crate.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::scratch;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn manifests_of_package_managers_name_the_archives_and_their_checksums() {
    let folder = scratch();
    let archive = |target: &str| folder.join(format!("kvtop-9.8.7-{target}.tar.gz"));
    std::fs::write(archive("x86_64-unknown-linux-musl"), "intel").unwrap();
    std::fs::write(archive("aarch64-unknown-linux-musl"), "arm").unwrap();
    let done = Command::new(root().join(".github/release/manifests"))
        .args(["9.8.7", "owner/kvtop", folder.to_str().unwrap()])
        .status()
        .unwrap();
    assert!(done.success());

    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let krew: Value = serde_saphyr::from_str(&read("dynamo-kvtop.yaml")).unwrap();
    assert_eq!(krew["metadata"]["name"], "dynamo-kvtop");
    let sum = |target: &str| {
        use sha2::Digest as _;
        let digest = sha2::Sha256::digest(std::fs::read(archive(target)).unwrap());
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    };
    for (number, target) in
        ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"].into_iter().enumerate()
    {
        let platform = &krew["spec"]["platforms"][number];
        let name = format!("/v9.8.7/kvtop-9.8.7-{target}.tar.gz");
        assert!(platform["uri"].as_str().unwrap().ends_with(&name), "{platform}");
        assert_eq!(platform["sha256"], sum(target).as_str());
        assert!(read("kvtop.rb").contains(&format!("sha256 \"{}\"", sum(target))));
    }
    for name in ["dynamo-kvtop.yaml", "kvtop.rb"] {
        assert!(!read(name).contains('@'), "{name}: {}", read(name));
    }
}

#[test]
fn the_published_crate_holds_what_a_user_needs_and_no_tests() {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files: Vec<&str> = text.lines().collect();
    for needed in [
        "src/main.rs",
        "themes/embed.rs",
        "LICENSE",
        "README.md",
        "docs/man/kvtop.1",
        "docs/completions/_kvtop",
    ] {
        assert!(files.contains(&needed), "{needed}");
    }
    for start in ["tests/", "docs/deploy", "docs/images", ".github", ".ci", "proptest-regressions"]
    {
        assert!(!files.iter().any(|file| file.starts_with(start)), "{start}");
    }
}

#[test]
fn every_script_of_a_release_is_valid_and_the_version_is_one() {
    for script in [".github/release/build", ".github/release/manifests", "tests/run"] {
        let done = Command::new("bash").arg("-n").arg(root().join(script)).status().unwrap();
        assert!(done.success(), "{script}");
    }
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let workflow: Value = serde_saphyr::from_str(&read(".github/workflows/release.yml")).unwrap();
    let targets = workflow["jobs"]["binaries"]["strategy"]["matrix"]["include"].as_array().unwrap();
    assert_eq!(targets.len(), 4);
    let project: toml::Table = read(".github/release/pyproject.toml").parse().unwrap();
    assert_eq!(project["project"]["name"].as_str(), Some("kvtop-dynamo"));
    assert_eq!(project["project"]["dynamic"].as_array().unwrap()[0].as_str(), Some("version"));
}
