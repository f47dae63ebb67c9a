//! `kvtop rbac`: the rights that kvtop needs, for the namespace that a name leads to.

use std::time::Duration;

use tokio::time::timeout;

use super::RunError;
use super::live;
use super::output::{print, tell};
use super::place::{self, Found};
use crate::cli::{self, RbacArgs, SourceArgs};
use crate::exit::Exit;
use crate::source::kube::KubeOptions;
use crate::source::kube::rbac::{self, RbacParts};

/// Time for the API server to say what a name means. Whoever prints a role may not be let in yet.
const LOOK_UP: Duration = Duration::from_secs(3);

/// Prints the role that kvtop needs.
pub(super) fn rbac(args: &RbacArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let parts = RbacParts {
        user: args.user.clone(),
        port_forward: args.port_forward,
        nats_namespace: args.nats_namespace.clone(),
        secret: args.secret.clone(),
        everywhere: source.all_namespaces,
    };
    let namespace = namespace(source)?;
    print(&rbac::role(&namespace, &parts))?;
    Ok(Exit::Clean)
}

/// Returns the namespace that the command line and the kubeconfig lead to.
pub(super) fn namespace(source: &SourceArgs) -> Result<String, RunError> {
    let options = KubeOptions {
        context: source.context.clone(),
        kubeconfig: source.kubeconfig.clone(),
        namespace: source.namespace.clone(),
        ..KubeOptions::default()
    };
    let named = options.named_namespace().map_err(|error| RunError::Kube(Box::new(error)))?;
    let named = match &source.namespace {
        Some(name) => looked_up(name, source)?.or(named),
        None => named,
    };
    let namespace = named.as_deref().unwrap_or("default");
    // A kubeconfig may hold anything.
    cli::label(namespace).map_err(|why| RunError::Namespace { name: namespace.to_owned(), why })
}

/// Returns the namespace that `name` leads to; none where it is one itself, or the API server does not say.
fn looked_up(name: &str, source: &SourceArgs) -> Result<Option<String>, RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(RunError::Start)?;
    let found = runtime.block_on(async {
        timeout(LOOK_UP, async { place::find(live::connect(source).await?, source).await }).await
    });
    // A credential plugin that hangs must not hold up the end.
    runtime.shutdown_background();
    match found {
        Ok(Ok(Found { client, asked: Some(_), .. })) => {
            let namespace = client.namespace();
            tell(&format!("kvtop: `{name}` is in namespace {namespace}"));
            Ok(Some(namespace.to_string()))
        }
        Ok(Err(error @ RunError::Ambiguous(_))) => Err(error),
        Ok(Err(RunError::NotFound(why))) => {
            tell(&format!("kvtop: {why}; printing it for namespace `{name}`"));
            Ok(None)
        }
        _ => Ok(None),
    }
}
