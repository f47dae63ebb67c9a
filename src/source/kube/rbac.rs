//! The rights that kvtop needs, as a manifest to paste.

/// Which Roles to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RbacParts {
    /// To whom the rights are given; a service account `kvtop` when none.
    pub user: Option<String>,
    /// Also the right to reach addresses in the cluster through the API server.
    pub port_forward: bool,
    /// Also the right to read this one Secret, for the credentials of NATS.
    pub secret: Option<String>,
}

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

/// Servers up to 1.34 ask for `get`, later ones for `create` as well.
const FORWARD: &str = r#"
- apiGroups: [""]
  resources: [pods/portforward]
  verbs: [get, create]
"#;

/// Returns Roles and `RoleBinding`s with the least that kvtop needs in `namespace`, as YAML.
pub fn role(namespace: &str, parts: &RbacParts) -> String {
    let mut text = format!(
        "# kvtop rbac: everything kvtop reads in namespace {namespace}. It changes nothing.\n\
         # Optional, and not here, since it is a right in the whole cluster: list on namespaces, which\n\
         # key `n` asks for once. Without it, type `:ns NAME`.\n"
    );
    let subject = if let Some(user) = &parts.user {
        format!("- kind: User\n  name: {}\n  apiGroup: {GROUP}\n", quote(user))
    } else {
        text.push_str(&object("v1", "ServiceAccount", "kvtop", namespace));
        text.push_str("---\n");
        format!("- kind: ServiceAccount\n  name: kvtop\n  namespace: {}\n", quote(namespace))
    };
    let mut roles = vec![("kvtop", "", LOOK.to_owned())];
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
        let head = object(RBAC, "Role", name, namespace);
        let binding = object(RBAC, "RoleBinding", name, namespace);
        let role = format!(
            "{separator}{why}{head}rules:{rules}---\n{binding}roleRef:\n  apiGroup: {GROUP}\n  \
             kind: Role\n  name: {name}\nsubjects:\n{subject}"
        );
        text.push_str(&role);
    }
    text
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
        let parts =
            RbacParts { user: None, port_forward: true, secret: Some("nats-auth".to_owned()) };

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
    fn the_base_has_no_opt_ins_and_odd_names_are_quoted() {
        let parts = RbacParts { user: Some("a: b".to_owned()), ..RbacParts::default() };

        let text = role("7", &parts);

        assert!(!text.contains("portforward") && !text.contains("secrets"), "{text}");
        assert!(text.contains("namespace: \"7\"") && text.contains("name: \"a: b\""), "{text}");
    }
}
