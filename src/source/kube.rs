//! The Kubernetes source: the objects of one namespace, and their changes.

mod client;
mod error;
mod options;
mod refusal;

pub use client::{KubeClient, connect};
pub use error::KubeConfigError;
pub use options::KubeOptions;
pub use refusal::Refusal;
pub(super) use refusal::deepest;
