//! The rights that kvtop needs, as a manifest to paste.

/// The Roles to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RbacParts {
    /// To whom the rights are given; a service account `kvtop` when none.
    pub user: Option<String>,
    /// Also the right to reach addresses in the cluster through the API server.
    pub port_forward: bool,
    /// The namespace of NATS, for the right to reach it as well; with [`Self::port_forward`] only, and
    /// as an example in comments when it is not named.
    pub nats_namespace: Option<String>,
    /// Also the right to read this one Secret, for the credentials of NATS.
    pub secret: Option<String>,
    /// Rights in the whole cluster, for `--all-namespaces`.
    pub everywhere: bool,
}

/// The right to list namespaces, where graph deployments of the whole cluster are listed.
const NAMESPACES: &str = r#"
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list]
"#;

/// Everything that is needed to look: nothing here changes anything.
const LOOK: &str = r#"
- apiGroups: [""]
  resources: [pods, configmaps]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
- apiGroups: [nvidia.com]
  resources: [dynamographdeployments, dynamoworkermetadatas]
  verbs: [get, list, watch]
"#;

/// Servers up to 1.34 ask for `get`, later ones for `create` as well. The service says which port of
/// its pods a port of its own is.
const FORWARD: &str = r#"
- apiGroups: [""]
  resources: [services]
  verbs: [get]
- apiGroups: [""]
  resources: [pods/portforward]
  verbs: [get, create]
"#;

/// From the name of a service to a ready pod of it, where nothing else may be read.
const FIND: &str = "
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list]";

/// The namespace of Dynamo's platform in its documentation.
const PLATFORM: &str = "dynamo-system";

/// Returns Roles and `RoleBinding`s with the least that kvtop needs in `namespace`, as YAML.
pub fn role(namespace: &str, parts: &RbacParts) -> String {
    let mut text = if parts.everywhere {
        "# kvtop rbac: everything kvtop reads in the whole cluster. It changes nothing.\n"
            .to_owned()
    } else {
        format!(
            "# kvtop rbac: everything kvtop reads in namespace {namespace}. It changes nothing.\n\
         # Optional and not included, because these rights are cluster-wide: get and list on namespaces\n\
         # (for key `n`), and list on dynamographdeployments.nvidia.com (so that `-n` finds a deployment by\n\
         # name in any namespace). Without them, `-n` takes a namespace, or a deployment in the namespaces\n\
         # that your kubeconfig names.\n"
        )
    };
    let subject = if let Some(user) = &parts.user {
        let lines = format!("- kind: User\n  name: {}\n  apiGroup: {GROUP}\n", quote(user));
        Bound { lines, suffix: format!("-{}", suffix(user)), everywhere: parts.everywhere }
    } else {
        text.push_str(&object("v1", "ServiceAccount", "kvtop", namespace));
        text.push_str("---\n");
        let place = quote(namespace);
        let lines = format!("- kind: ServiceAccount\n  name: kvtop\n  namespace: {place}\n");
        Bound { lines, suffix: String::new(), everywhere: parts.everywhere }
    };
    let namespaces = if parts.everywhere { NAMESPACES.trim_start() } else { "" };
    let mut roles = vec![("kvtop", "", format!("{LOOK}{namespaces}"))];
    if parts.port_forward {
        let why = "# Opt-in: reach NATS and metrics through the API server from outside.\n";
        roles.push(("kvtop-port-forward", why, FORWARD.to_owned()));
    }
    if let Some(secret) = &parts.secret {
        let why = "# Opt-in: the one Secret that holds the credentials of NATS.\n";
        let rule = format!(
            "\n- apiGroups: [\"\"]\n  resources: [secrets]\n  resourceNames: [{}]\n  verbs: [get]\n",
            quote(secret)
        );
        roles.push(("kvtop-secret", why, rule));
    }
    for (number, (name, why, rules)) in roles.iter().enumerate() {
        let separator = if number == 0 { "" } else { "---\n" };
        text.push_str(separator);
        text.push_str(why);
        text.push_str(&bound(name, namespace, rules, &subject));
    }
    if parts.port_forward && !parts.everywhere {
        text.push_str(&of_nats(namespace, parts.nats_namespace.as_deref(), &subject));
    }
    text
}

/// Returns the rights in the namespace of NATS; comments, when it is not known which one that is.
fn of_nats(home: &str, named: Option<&str>, subject: &Bound) -> String {
    let role = |place: &str| bound("kvtop-nats", place, &format!("{FIND}{FORWARD}"), subject);
    match named {
        Some(place) if place == home => String::new(),
        Some(place) => {
            format!("---\n# Opt-in: reach NATS, which is in namespace {place}.\n{}", role(place))
        }
        None if home == PLATFORM => String::new(),
        None => {
            let mut text = format!(
                "# Where NATS is in another namespace, as {PLATFORM}, kvtop needs this there; with\n\
                 # --nats-namespace {PLATFORM} it is printed without the comment signs.\n# ---\n"
            );
            for line in role(PLATFORM).lines() {
                text.push_str("# ");
                text.push_str(line);
                text.push('\n');
            }
            text
        }
    }
}

/// The receiver of the rights, and the name of its bindings.
struct Bound {
    lines: String,
    suffix: String,
    everywhere: bool,
}

/// Longest part of a user's name in the name of a binding.
const NAME: usize = 40;

/// Returns a part of a name that is `user`'s alone: the letters that names may have, and a digest.
fn suffix(user: &str) -> String {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9') => letter,
        _ => '-',
    };
    let name: String = user.chars().take(NAME).map(letter).collect();
    let digest = xxhash_rust::xxh3::xxh3_64(user.as_bytes()) & 0xff_ffff;
    format!("{}-{digest:06x}", name.trim_matches('-')).trim_start_matches('-').to_owned()
}

/// Returns a Role with its binding.
fn bound(name: &str, namespace: &str, rules: &str, subject: &Bound) -> String {
    let Bound { lines: subject, suffix, everywhere } = subject;
    let own = format!("{name}{suffix}");
    let (kind, head, binding) = if *everywhere {
        let head = object_everywhere("ClusterRole", name);
        ("ClusterRole", head, object_everywhere("ClusterRoleBinding", &own))
    } else {
        let head = object(RBAC, "Role", name, namespace);
        ("Role", head, object(RBAC, "RoleBinding", &own, namespace))
    };
    format!(
        "{head}rules:{rules}---\n{binding}roleRef:\n  apiGroup: {GROUP}\n  kind: {kind}\n  \
         name: {name}\nsubjects:\n{subject}"
    )
}

fn object_everywhere(kind: &str, name: &str) -> String {
    format!("apiVersion: {RBAC}\nkind: {kind}\nmetadata:\n  name: {name}\n")
}

const GROUP: &str = "rbac.authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn object(version: &str, kind: &str, name: &str, namespace: &str) -> String {
    let namespace = quote(namespace);
    format!(
        "apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
    )
}

/// Returns `text` as a YAML string; JSON strings are.
fn quote(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    if !text.is_empty() && text.chars().all(plain) && !["null", "true", "false"].contains(&text) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_that_changes_anything() {
        let parts = RbacParts {
            port_forward: true,
            nats_namespace: Some("gtc-demo".to_owned()),
            secret: Some("nats-auth".to_owned()),
            ..RbacParts::default()
        };

        let text = role("gtc-demo", &parts);

        for verb in ["update", "patch", "delete", "deletecollection", "impersonate", "*"] {
            assert!(!text.contains(verb), "{verb}: {text}");
        }
        // The one exception is how a port-forward is asked for.
        assert_eq!(text.matches("create").count(), 1);
        assert_eq!(text.matches("resourceNames: [nats-auth]").count(), 1);
        assert_eq!(text.matches("kind: RoleBinding").count(), 3);
        assert!(!text.contains("ClusterRole"), "{text}");
        // Nothing is asked of these.
        assert!(!text.contains("dynamocomponentdeployments"), "{text}");
    }

    #[test]
    fn rights_in_the_whole_cluster_are_of_the_cluster_and_change_nothing() {
        let parts = RbacParts { everywhere: true, port_forward: true, ..RbacParts::default() };

        let text = role("monitoring", &parts);

        assert_eq!(text.matches("kind: ClusterRoleBinding").count(), 2, "{text}");
        assert!(!text.contains("kind: Role\n") && !text.contains("kind: RoleBinding"), "{text}");
        assert!(text.contains("resources: [namespaces]\n  verbs: [get, list]"), "{text}");
        assert_eq!(text.matches("namespace: monitoring").count(), 3, "{text}");
        assert_eq!(text.matches("create").count(), 1, "{text}");
    }

    #[test]
    fn the_namespace_of_nats_gets_a_role_of_its_own_or_an_example() {
        let mut parts = RbacParts { port_forward: true, ..RbacParts::default() };
        let example = role("gtc-demo", &parts);
        assert!(example.contains("\n#   namespace: dynamo-system\n"), "{example}");
        assert!(!example.contains("\n  namespace: dynamo-system"), "{example}");

        parts.nats_namespace = Some("dynamo-system".to_owned());
        let named = role("gtc-demo", &parts);
        // Whoever gets it is still the account of the deployment's namespace.
        assert_eq!(named.matches("  namespace: dynamo-system\n").count(), 2, "{named}");
        assert!(named.contains("- kind: ServiceAccount\n  name: kvtop\n  namespace: gtc-demo\n"));
        assert_eq!(role("dynamo-system", &parts).matches("kind: RoleBinding").count(), 2);
    }

    #[test]
    fn the_base_has_no_opt_ins_and_odd_names_are_quoted() {
        let parts = RbacParts { user: Some("a: b".to_owned()), ..RbacParts::default() };

        let text = role("7", &parts);

        assert!(!text.contains("portforward") && !text.contains("secrets"), "{text}");
        let other = RbacParts { user: Some("a; b".to_owned()), ..RbacParts::default() };
        let bindings = |text: &str| -> Vec<String> {
            let parts = text.split("kind: RoleBinding\nmetadata:\n  name: ").skip(1);
            parts.map(|part| part.lines().next().unwrap_or_default().to_owned()).collect()
        };
        // A second user must not take the binding of the first.
        assert_ne!(bindings(&text), bindings(&role("7", &other)));
        assert!(bindings(&text)[0].starts_with("kvtop-a--b-"), "{text}");
        assert!(text.contains("namespace: \"7\"") && text.contains("name: \"a: b\""), "{text}");
    }
}
