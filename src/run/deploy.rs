//! `kvtop deploy`: what runs the exporter in a cluster, printed.

use super::RunError;
use super::output::print;
use super::rbac;
use crate::cli::{DeployArgs, DeployPart, MonitorKind, SourceArgs};
use crate::exit::Exit;
use crate::fleet::{self, Dashboard, Monitor, PORT, Plan};
use crate::source::kube::rbac::{RbacParts, role};

/// Prints the part that was asked for.
pub(super) fn deploy(args: &DeployArgs, source: &SourceArgs) -> Result<Exit, RunError> {
    let text = match args.part {
        DeployPart::Manifests => manifests(args, source)?,
        DeployPart::Rules => fleet::rules(&runbooks(args, &rbac::namespace(source)?)),
        DeployPart::DashboardFleet => fleet::dashboard(Dashboard::Fleet),
        DeployPart::DashboardDeployment => fleet::dashboard(Dashboard::Deployment),
        DeployPart::DashboardWorker => fleet::dashboard(Dashboard::Worker),
    };
    print(&text)?;
    Ok(Exit::Clean)
}

/// Returns what links to runbooks begin with: the exporter serves them.
fn runbooks(args: &DeployArgs, namespace: &str) -> String {
    let own = || format!("http://kvtop.{namespace}.svc:{PORT}/explain/");
    args.runbook_url.clone().unwrap_or_else(own)
}

fn manifests(args: &DeployArgs, source: &SourceArgs) -> Result<String, RunError> {
    let namespace = rbac::namespace(source)?;
    let parts = RbacParts {
        secret: args.secret.clone(),
        everywhere: source.all_namespaces,
        ..RbacParts::default()
    };
    let rights = role(&namespace, &parts);
    let plan = Plan {
        dgd: source.dgd.clone(),
        everywhere: source.all_namespaces,
        selector: source.selector.clone(),
        image: args.image.clone().unwrap_or_else(|| format!("kvtop:{}", env!("CARGO_PKG_VERSION"))),
        level: args.metrics_level.name().to_owned(),
        monitor: match args.monitor {
            MonitorKind::Pod => Monitor::Pod,
            MonitorKind::Service => Monitor::Service,
            MonitorKind::None => Monitor::None,
        },
        runbooks: runbooks(args, &namespace),
        namespace,
    };
    Ok(fleet::manifests(&plan, &rights))
}
