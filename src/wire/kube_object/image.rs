//! Image references: Dynamo's version by the tag, and the engine by the name.

use crate::domain::{Backend, Release};

/// Returns the repository of an image, without registry and path, and its tag.
fn parts(image: &str) -> (&str, Option<&str>) {
    let image = image.split('@').next().unwrap_or_default();
    let last = image.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((name, tag)) => (name, Some(tag)),
        None => (last, None),
    }
}

/// Returns Dynamo's version by the tag of one of its images. Digests, `latest` and tags of one's own
/// say nothing, nor do the tags of other images.
pub(super) fn version(image: &str) -> Option<&str> {
    let (name, tag) = parts(image);
    let ours = name.ends_with("-runtime") || image.contains("dynamo");
    let tag = tag?.strip_prefix('v').unwrap_or(tag?);
    // Dynamo is at 0.x and 1.x; a runtime image of another major version is numbered by its engine.
    (ours && Release::parse(tag).is_some_and(|version| version.major <= 1)).then_some(tag)
}

/// Returns true where the operator of an image's release lets the variables of a service and its graph win over those of
/// the service's container, in a graph deployment of v1alpha1.
pub fn services_win(image: &str) -> bool {
    let release = version(image).and_then(Release::parse);
    release.is_some_and(|release| release < crate::dynamo::release::CONTAINER_VARIABLES_WIN)
}

/// Returns the engine that an image is named after.
pub fn backend(image: &str) -> Option<Backend> {
    let (name, _) = parts(image);
    let known = [
        ("tensorrtllm", Backend::TrtLlm),
        ("trtllm", Backend::TrtLlm),
        ("vllm", Backend::Vllm),
        ("sglang", Backend::SgLang),
    ];
    known.iter().find(|(mark, _)| name.contains(mark)).map(|(_, backend)| *backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tags_of_dynamo_images_are_versions() {
        let cases = [
            ("nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.9.0", Some("0.9.0")),
            ("reg:5000/x/vllm-runtime:v1.6.1-rc2@sha256:00", Some("1.6.1-rc2")),
            ("my-registry/tensorrtllm-runtime:my-tag", None),
            ("my-registry/tensorrtllm-runtime:latest", None),
            ("nvcr.io/nvidia/ai-dynamo/vllm-runtime@sha256:00", None),
            ("reg:5000/vllm-runtime", None),
            ("nats:2.10.21-alpine", None),
            ("reg/tensorrtllm-runtime:2026.1", None),
            ("", None),
        ];
        for (image, expected) in cases {
            assert_eq!(version(image), expected, "{image}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        assert!(Release::parse("1.10.0") > Release::parse("1.6.1"));
        assert_eq!(Release::parse("1.0rc1"), Some(Release::new(1, 0)));
        assert_eq!(Release::parse("my-tag"), None);
    }
}
