//! Fixes: typed, and rendered to a sentence, a patch and a command. Printed and copied, never applied.

use std::fmt::Write as _;
use std::sync::Arc;

/// A part of the deployment that a fix changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The frontend, with the router inside it.
    Frontend,
    /// A router in a process of its own.
    Router,
    /// The workers.
    Workers,
}

/// What a fix does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Sets an environment variable.
    Env {
        /// On which part.
        on: Part,
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// Replaces pods by fresh ones, one after the other.
    Roll {
        /// The pods, in that order.
        pods: Vec<Arc<str>>,
    },
}

/// What mends a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fix {
    /// What to do, in one sentence.
    pub sentence: String,
    /// The same for a machine, where there is such a form.
    pub change: Option<Change>,
    /// What restarts because of it.
    pub restarts: String,
}

/// Which kind of manifest describes the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// `nvidia.com/v1alpha1`: services by name.
    V1Alpha1,
    /// `nvidia.com/v1beta1`: a list of components.
    V1Beta1,
}

/// A component of the manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name.
    pub name: Arc<str>,
    /// Its place in the list of components, from 0 (v1beta1).
    pub place: usize,
    /// What it is.
    pub part: Part,
}

/// What a fix is applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The manifest's kind.
    pub api: Api,
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub graph: Arc<str>,
    /// Its components.
    pub components: Vec<Component>,
}

/// A fix in the forms in which it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// What to do, in one sentence.
    pub sentence: String,
    /// A patch, when what to patch is known.
    pub yaml: Option<String>,
    /// A command, when what to change is known.
    pub kubectl: Option<String>,
    /// What restarts because of it.
    pub restarts: String,
    /// How to see that it worked.
    pub verify: String,
}

impl Fix {
    /// Returns the fix as it is shown for `targets`.
    pub fn render(&self, targets: Option<&Targets>) -> Rendered {
        let change = self.change.as_ref().zip(targets);
        let scope = targets.map_or(String::new(), |targets| format!(" -n {}", targets.namespace));
        Rendered {
            sentence: self.sentence.clone(),
            yaml: change.and_then(|(change, targets)| patch(change, targets)),
            kubectl: change.and_then(|(change, targets)| command(change, targets)),
            restarts: self.restarts.clone(),
            verify: format!("kvtop check{scope} --wait 2m"),
        }
    }
}

impl Targets {
    fn of(&self, part: Part) -> Vec<&Component> {
        self.components.iter().filter(|component| component.part == part).collect()
    }
}

fn patch(change: &Change, targets: &Targets) -> Option<String> {
    let Change::Env { on, name, value } = change else { return None };
    let components = targets.of(*on);
    if components.is_empty() {
        return None;
    }
    let version = match targets.api {
        Api::V1Alpha1 => "v1alpha1",
        Api::V1Beta1 => "v1beta1",
    };
    let mut text = format!(
        "apiVersion: nvidia.com/{version}\nkind: DynamoGraphDeployment\nmetadata:\n  name: {}\n  \
         namespace: {}\nspec:\n",
        targets.graph, targets.namespace
    );
    text.push_str(match targets.api {
        Api::V1Alpha1 => "  services:\n",
        Api::V1Beta1 => "  components:\n",
    });
    for component in components {
        let lines = match targets.api {
            Api::V1Alpha1 => format!(
                "    {}:\n      envs:\n        - name: {name}\n          value: \"{value}\"\n",
                component.name
            ),
            Api::V1Beta1 => format!(
                "    - name: {}\n      podTemplate:\n        spec:\n          containers:\n            \
                 - name: main\n              env:\n                - name: {name}\n                  \
                 value: \"{value}\"\n",
                component.name
            ),
        };
        text.push_str(&lines);
    }
    Some(text)
}

/// Custom resources know no strategic merge, and a plain merge would replace the whole list of
/// variables. A JSON patch appends to it, and fails without harm where there is none.
fn command(change: &Change, targets: &Targets) -> Option<String> {
    let namespace = &targets.namespace;
    match change {
        Change::Roll { pods } => {
            let (first, rest) = pods.split_first()?;
            let mut text = format!("kubectl -n {namespace} delete pod {first}");
            if !rest.is_empty() {
                text.push_str("  # when its successor is ready, the next: ");
                text.push_str(&rest.join(", "));
            }
            Some(text)
        }
        Change::Env { on, name, value } => {
            let mut steps = String::new();
            for component in targets.of(*on) {
                let comma = if steps.is_empty() { "" } else { "," };
                let (test, path) = match targets.api {
                    Api::V1Alpha1 => {
                        (String::new(), format!("/spec/services/{}/envs/-", component.name))
                    }
                    Api::V1Beta1 => {
                        let place = component.place;
                        let test = format!(
                            r#"{{"op":"test","path":"/spec/components/{place}/name","value":"{}"}},"#,
                            component.name
                        );
                        let env = "podTemplate/spec/containers/0/env/-";
                        (test, format!("/spec/components/{place}/{env}"))
                    }
                };
                let written = write!(
                    steps,
                    r#"{comma}{test}{{"op":"add","path":"{path}","value":{{"name":"{name}","value":"{value}"}}}}"#
                );
                // Writing to a string cannot fail.
                debug_assert!(written.is_ok());
            }
            (!steps.is_empty()).then(|| {
                format!(
                    "kubectl -n {namespace} patch dynamographdeployment {} --type json -p '[{steps}]'",
                    targets.graph
                )
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(api: Api) -> Targets {
        let component = |name: &str, place, part| Component { name: name.into(), place, part };
        Targets {
            api,
            namespace: "serving".into(),
            graph: "demo".into(),
            components: vec![
                component("Frontend", 0, Part::Frontend),
                component("TrtllmWorker", 1, Part::Workers),
            ],
        }
    }

    fn declared() -> Fix {
        let change = Change::Env {
            on: Part::Frontend,
            name: "DYN_KV_CACHE_BLOCK_SIZE".into(),
            value: "32".into(),
        };
        Fix { sentence: "Set it.".into(), change: Some(change), restarts: "the frontend".into() }
    }

    #[test]
    fn a_variable_is_set_by_service_in_v1alpha1() {
        let rendered = declared().render(Some(&targets(Api::V1Alpha1)));

        assert_eq!(
            rendered.yaml.as_deref(),
            Some(
                "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: \
                 demo\n  namespace: serving\nspec:\n  services:\n    Frontend:\n      envs:\n        - \
                 name: DYN_KV_CACHE_BLOCK_SIZE\n          value: \"32\"\n"
            )
        );
        assert_eq!(
            rendered.kubectl.as_deref(),
            Some(
                "kubectl -n serving patch dynamographdeployment demo --type json -p \
                 '[{\"op\":\"add\",\"path\":\"/spec/services/Frontend/envs/-\",\"value\":{\"name\":\
                 \"DYN_KV_CACHE_BLOCK_SIZE\",\"value\":\"32\"}}]'"
            )
        );
        assert_eq!(rendered.verify, "kvtop check -n serving --wait 2m");
    }

    #[test]
    fn a_variable_is_set_by_component_in_v1beta1() {
        let rendered = declared().render(Some(&targets(Api::V1Beta1)));
        let (yaml, kubectl) = (rendered.yaml.unwrap(), rendered.kubectl.unwrap());

        assert!(yaml.contains("  components:\n    - name: Frontend\n      podTemplate:"), "{yaml}");
        assert!(yaml.contains("                  value: \"32\""), "{yaml}");
        assert!(
            kubectl.contains("\"op\":\"test\",\"path\":\"/spec/components/0/name\""),
            "{kubectl}"
        );
        assert!(kubectl.contains("/spec/components/0/podTemplate/spec/containers/0/env/-"));
    }

    #[test]
    fn pods_are_rolled_one_by_one_and_unknown_targets_leave_the_sentence() {
        let roll = Change::Roll { pods: vec!["w-a".into(), "w-b".into()] };
        let fix = Fix { sentence: "Roll.".into(), change: Some(roll), restarts: "workers".into() };

        let known = fix.render(Some(&targets(Api::V1Alpha1)));
        let unknown = fix.render(None);

        assert_eq!(
            known.kubectl.as_deref(),
            Some("kubectl -n serving delete pod w-a  # when its successor is ready, the next: w-b")
        );
        assert_eq!((known.yaml, unknown.kubectl, unknown.yaml), (None, None, None));
        assert_eq!(unknown.verify, "kvtop check --wait 2m");
    }
}
