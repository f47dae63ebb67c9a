//! Finds discovery records by the command line and by Dynamo's own variables.

use std::path::PathBuf;

use super::RunError;
use crate::cli::SourceArgs;
use crate::dynamo::{plane, variable};
use crate::source::etcd::{self, EtcdAddress, EtcdSpec};
use crate::source::files;
use crate::source::nats::Secret;
use crate::source::reach::Reach;
use crate::source::{Emitter, SourceHandle};

/// The place of discovery records.
#[derive(Debug, Default)]
pub(super) struct Records {
    etcd: Option<EtcdAt>,
    folder: Option<PathBuf>,
}

/// An etcd, and the login for it.
#[derive(Debug)]
struct EtcdAt {
    addresses: Vec<EtcdAddress>,
    login: Option<(String, Secret)>,
}

impl EtcdAt {
    fn new(url: &str, args: &SourceArgs) -> Result<Self, RunError> {
        Ok(Self { addresses: etcd::addresses(url)?, login: login(args)? })
    }
}

/// Returns where records are; none when nobody says so.
///
/// Flags win. Else a folder when Dynamo's variables say that records are files (dynamo-runtime 1.6.1,
/// `storage/kv.rs:174`; 0.9 says `DYN_STORE_KV`), or `ETCD_ENDPOINTS`.
pub(super) fn records(args: &SourceArgs) -> Result<Option<Records>, RunError> {
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let in_files = [variable::DISCOVERY_BACKEND, variable::STORE_KV]
        .iter()
        .any(|name| env(name).as_deref() == Some("file"));
    let mut found = Records { folder: args.discovery_dir.clone(), etcd: None };
    if let Some(url) = &args.etcd_url {
        found.etcd = Some(EtcdAt::new(url, args)?);
    }
    if found.folder.is_none() && found.etcd.is_none() {
        if in_files {
            let unset = || std::env::temp_dir().join(plane::RECORDS_FOLDER);
            found.folder = Some(env(variable::FILE_KV).map_or_else(unset, PathBuf::from));
        } else if let Some(url) = env("ETCD_ENDPOINTS") {
            found.etcd = Some(EtcdAt::new(&url, args)?);
        }
    }
    Ok(Some(found).filter(|found| found.folder.is_some() || found.etcd.is_some()))
}

/// Returns user and password of etcd: those of the flags, or of Dynamo's variables.
pub(super) fn login(args: &SourceArgs) -> Result<Option<(String, Secret)>, RunError> {
    if let (Some(user), Some(path)) = (&args.etcd_user, &args.etcd_password_file) {
        let password = std::fs::read_to_string(path)
            .map_err(|source| RunError::Password { path: path.clone(), source })?;
        let password = Secret::new(password.trim_end_matches(['\r', '\n']).to_owned());
        return Ok(Some((user.clone(), password)));
    }
    let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (user, password) = (env("ETCD_AUTH_USERNAME"), env("ETCD_AUTH_PASSWORD"));
    Ok(user.zip(password).map(|(user, password)| (user, Secret::new(password))))
}

impl Records {
    /// Returns where they are, for people.
    pub(super) fn label(&self) -> String {
        let etcd = self.etcd.as_ref().and_then(|etcd| etcd.addresses.first());
        match (etcd, &self.folder) {
            (Some(address), _) => format!("etcd {}", address.host),
            (None, Some(folder)) => folder.display().to_string(),
            (None, None) => String::new(),
        }
    }

    /// Starts to read them. Must be called within a runtime.
    pub(super) fn spawn(self, emitter: &Emitter) -> Vec<SourceHandle> {
        let etcd = self.etcd.map(|etcd| {
            let spec = EtcdSpec::new(etcd.addresses, etcd.login, Reach::default());
            etcd::spawn(spec, emitter.clone())
        });
        let files = self.folder.map(|folder| files::spawn(folder, emitter.clone()));
        etcd.into_iter().chain(files).collect()
    }
}
