//! The places in a graph deployment's manifest that fixes change.

use std::sync::Arc;

/// The form in which a graph deployment was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphApi {
    /// `nvidia.com/v1alpha1`: services by name.
    V1Alpha1,
    /// `nvidia.com/v1beta1`: a list of components.
    V1Beta1,
}

impl GraphApi {
    /// Returns the version as manifests name it.
    pub const fn version(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

/// A list in a manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestList {
    /// Its JSON pointer, from the object on.
    pub path: Arc<str>,
    /// Its items: names of variables, words of a command. None when the manifest has no such list, or
    /// one that is too long to be kept.
    pub items: Option<Vec<Arc<str>>>,
    /// Values of the variables, in the same order; none where another
    /// object holds one, and of variables that are not Dynamo's.
    pub values: Vec<Option<Arc<str>>>,
    /// True when it is there, kept or not.
    pub present: bool,
}

/// The part of a component's manifest that fixes may change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestPart {
    /// Its place in the list of components, from 0 (v1beta1).
    pub place: Option<usize>,
    /// Lists of variables, the one for new ones first; of two that hold the same, the later wins or the first.
    pub variables: Vec<ManifestList>,
    /// True where the first wins.
    pub first_wins: bool,
    /// Lists of words that its process is started with, the one for new ones last; empty when a shell
    /// takes them apart.
    pub words: Vec<ManifestList>,
    /// Flags that a shell's script names. A fix cannot change them: a script is no list of words.
    pub scripted: Vec<Arc<str>>,
}
