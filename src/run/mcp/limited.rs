//! A limit on unanswered requests: while a client does not read its answers, no more of its requests are read.
//!
//! The protocol's library starts a task for each request and for each answer to be written. Without a limit, a client that
//! asks and never reads would fill the memory.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::Notify;

/// Most requests whose answers are not written yet.
const UNANSWERED: usize = 32;

/// A transport with the limit.
pub(super) struct Limited<T> {
    inner: T,
    unanswered: Arc<Unanswered>,
}

/// The requests that wait for an answer, or for its writing.
#[derive(Default)]
struct Unanswered {
    ids: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

impl Unanswered {
    async fn room(&self) {
        while self.with(|ids| ids.len() >= UNANSWERED) {
            self.fewer.notified().await;
        }
    }

    fn remove(&self, id: &RequestId) {
        self.with(|ids| ids.remove(id));
        self.fewer.notify_one();
    }

    fn with<V>(&self, change: impl FnOnce(&mut HashSet<RequestId>) -> V) -> V {
        change(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T> Limited<T> {
    pub(super) fn new(inner: T) -> Self {
        Self { inner, unanswered: Arc::default() }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Limited<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let (sending, unanswered) = (self.inner.send(item), Arc::clone(&self.unanswered));
        async move {
            let sent = sending.await;
            if let Some(id) = id {
                unanswered.remove(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.unanswered.room().await;
        let message = self.inner.receive().await?;
        match &message {
            JsonRpcMessage::Request(request) => {
                self.unanswered.with(|ids| ids.insert(request.id.clone()));
            }
            JsonRpcMessage::Notification(it) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) = &it.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.unanswered.remove(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
