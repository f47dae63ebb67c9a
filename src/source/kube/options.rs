//! Access to the API: kubeconfig or service account, and flags.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use kube::config::{Config, ExecInteractiveMode, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::account;
use super::certificate;
use super::error::KubeConfigError;
use crate::domain::Timestamp;
use crate::source::user_agent;

/// Default time limit of a request that is no watch.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The cluster options of the command line, with kubectl's names.
#[derive(Clone, Debug, Default)]
pub struct KubeOptions {
    /// `--context`; the current one when none.
    pub context: Option<String>,
    /// `--kubeconfig`; `KUBECONFIG`, `~/.kube/config` or the service account when none.
    pub kubeconfig: Option<PathBuf>,
    /// `--namespace`; the context's when none.
    pub namespace: Option<String>,
    /// `--as`: the user to impersonate.
    pub as_user: Option<String>,
    /// `--request-timeout`, for everything but watches.
    pub request_timeout: Option<Duration>,
    /// The folder of the pod's service account; none for the one in which Kubernetes mounts it.
    pub service_account: Option<PathBuf>,
}

impl KubeOptions {
    pub(super) fn timeout(&self) -> Duration {
        self.request_timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(REQUEST_TIMEOUT)
    }

    fn mount(&self) -> &Path {
        self.service_account.as_deref().unwrap_or(Path::new(account::MOUNT))
    }

    /// Returns the configuration of the client.
    pub(super) async fn resolve(&self) -> Result<Config, KubeConfigError> {
        let mut config = if let Some(kubeconfig) = self.kubeconfig()? {
            self.select(kubeconfig).await?
        } else {
            let (account, any) = (account::kubeconfig(self.mount())?, KubeConfigOptions::default());
            let config = Config::from_custom_kubeconfig(account, &any).await;
            config.map_err(|error| KubeConfigError::ServiceAccount { why: error.to_string() })?
        };
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        if let Some(user) = &self.as_user {
            config.auth_info.impersonate = Some(user.clone());
        }
        if let Some(exec) = &mut config.auth_info.exec {
            // The screen is drawn while credentials are renewed: a plugin that asks questions there
            // would never be seen, and one that writes to it would spoil it.
            if exec.interactive_mode != Some(ExecInteractiveMode::Always) {
                exec.interactive_mode = Some(ExecInteractiveMode::Never);
            }
        }
        if let Ok(agent) = http::HeaderValue::from_str(&user_agent("cluster watch")) {
            config.headers.push((http::header::USER_AGENT, agent));
        }
        // The source waits and tries again by itself, and says so.
        config.default_retry = false;
        config.connect_timeout = Some(self.timeout().min(Duration::from_secs(5)));
        Ok(config)
    }

    /// Returns what names the server, for people.
    pub(super) fn origin(&self) -> String {
        match self.kubeconfig() {
            Ok(Some(kubeconfig)) => {
                let context = self.context.clone().or(kubeconfig.current_context);
                format!("context `{}`", context.unwrap_or_default())
            }
            Ok(None) | Err(_) => "the service account of this pod".to_owned(),
        }
    }

    /// Returns the kubeconfig, none when there is a service account instead.
    pub(super) fn kubeconfig(&self) -> Result<Option<Kubeconfig>, KubeConfigError> {
        if let Some(path) = &self.kubeconfig {
            let read = Kubeconfig::read_from(path);
            return read.map(Some).map_err(|source| unreadable(path.display().to_string(), source));
        }
        match Kubeconfig::read() {
            Ok(kubeconfig) => Ok(Some(kubeconfig)),
            Err(KubeconfigError::ReadConfig(error, _))
                if error.kind() == std::io::ErrorKind::NotFound =>
            {
                if account::is_likely(self.mount()) {
                    Ok(None)
                } else {
                    Err(KubeConfigError::NoKubeconfig)
                }
            }
            Err(source) => Err(unreadable("the kubeconfig".to_owned(), source)),
        }
    }

    /// Returns the namespace that the flag or the context names; asks no server. Only what was named
    /// must be there.
    pub fn named_namespace(&self) -> Result<Option<String>, KubeConfigError> {
        if self.namespace.is_some() && self.kubeconfig.is_none() && self.context.is_none() {
            return Ok(self.namespace.clone());
        }
        let asked = self.kubeconfig.is_some() || self.context.is_some();
        let kubeconfig = match self.kubeconfig() {
            Err(error) if asked => return Err(error),
            Ok(None) | Err(_) => return Ok(self.namespace.clone()),
            Ok(Some(kubeconfig)) => kubeconfig,
        };
        let name = self.context.clone().or(kubeconfig.current_context);
        let found = kubeconfig.contexts.iter().find(|known| Some(&known.name) == name.as_ref());
        if let (None, Some(context)) = (found, &self.context) {
            let known: Vec<_> = kubeconfig.contexts.iter().map(|it| it.name.as_str()).collect();
            let (context, known) = (context.clone(), known.join(", "));
            return Err(KubeConfigError::UnknownContext { context, known });
        }
        let of_context = found.and_then(|found| found.context.as_ref()?.namespace.clone());
        Ok(self.namespace.clone().or(of_context).filter(|name| !name.is_empty()))
    }

    /// Returns when the client certificate of the kubeconfig ended, if it had by `now`.
    pub(super) fn expired(&self, now: Timestamp) -> Option<String> {
        let kubeconfig = self.kubeconfig().ok()??;
        let context = self.context.as_ref().or(kubeconfig.current_context.as_ref())?;
        let context = kubeconfig.contexts.iter().find(|known| known.name == *context)?;
        let user = context.context.as_ref()?.user.as_ref()?;
        let user = kubeconfig.auth_infos.iter().find(|known| known.name == *user)?;
        let user = user.auth_info.as_ref()?;
        let pem = match (&user.client_certificate_data, &user.client_certificate) {
            (Some(data), _) => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim()).ok()?;
                String::from_utf8(bytes).ok()?
            }
            (None, Some(path)) => std::fs::read_to_string(path).ok()?,
            (None, None) => return None,
        };
        let end = certificate::not_after(&pem)?;
        let passed = end < i64::try_from(now.0 / 1_000_000).ok()?;
        let at = jiff::Timestamp::from_second(end).ok()?;
        passed.then(|| at.strftime("%-d %B %Y, %H:%M UTC").to_string())
    }

    async fn select(&self, kubeconfig: Kubeconfig) -> Result<Config, KubeConfigError> {
        let known: Vec<String> =
            kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
        let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        config.map_err(|source| match source {
            KubeconfigError::LoadContext(context) => {
                KubeConfigError::UnknownContext { context, known: known.join(", ") }
            }
            KubeconfigError::CurrentContextNotSet => {
                KubeConfigError::NoContext { known: known.join(", ") }
            }
            source => unreadable("the kubeconfig".to_owned(), source),
        })
    }
}

fn unreadable(file: String, source: KubeconfigError) -> KubeConfigError {
    KubeConfigError::Unreadable { file, source: Box::new(source) }
}
