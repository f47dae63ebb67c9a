//! Words of a shell: names come from outside, and commands are meant to be pasted.
//!
//! The `=` of flags keeps a value that begins with a dash from being read as a flag.

/// Returns `text` as one word of a shell.
pub(super) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The beginning of each command: how the cluster and the namespace are reached.
pub(super) struct Kubectl {
    /// Flags that name the cluster, each with a space before it.
    flags: String,
    namespace: String,
}

impl Kubectl {
    /// Returns none for a `namespace` that is no name.
    pub(super) fn new(namespace: &str, cluster: &ClusterChoice) -> Option<Self> {
        let flags = cluster.flags();
        is_name(namespace).then(|| Self { flags, namespace: namespace.to_owned() })
    }
}

impl std::fmt::Display for Kubectl {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "kubectl{} -n {}", self.flags, self.namespace)
    }
}

/// The cluster that was asked for, where the user named one: commands have to reach the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterChoice {
    /// The kubeconfig file.
    pub kubeconfig: Option<String>,
    /// The context in it.
    pub context: Option<String>,
}

impl ClusterChoice {
    /// Returns the flags that name it, for kubectl and for kvtop.
    pub(super) fn flags(&self) -> String {
        let flags = [("--kubeconfig", &self.kubeconfig), ("--context", &self.context)];
        let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_ref()?)));
        given.flat_map(|(flag, value)| [" ".into(), flag.into(), "=".into(), word(value)]).collect()
    }
}

/// Returns true for what Kubernetes allows as the name of an object. Nothing else is put into a command: a
/// name that begins with a dash would be read as a flag.
pub(super) fn is_name(text: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    let ends =
        bytes.first().is_some_and(|it| inside(*it)) && bytes.last().is_some_and(|it| inside(*it));
    ends && bytes.len() <= 253 && bytes.iter().all(|it| inside(*it) || b"-.".contains(it))
}
