//! Listens for notifications of other workers on its own connection, which is reopened when it ends. A connection that a
//! pooler lends for a transaction hears nothing: without an address past the pooler, the store only looks once a second.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::port::WorkNotifier;
use tokio::task::JoinSet;
use tokio_postgres::AsyncMessage;

use super::PostgresStore;
use super::connect::{Connector, DrivenConnection};
use crate::notifier::Notifier;

/// Sent once for each batch with new work, in its transaction.
pub(crate) const NOTIFY: &str = "SELECT pg_notify('nightshift-work', '')";
const LISTEN: &str = "LISTEN \"nightshift-work\"";
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// The listening task. It starts when somebody waits, and ends with the store.
#[derive(Debug, Clone, Default)]
pub(super) struct Listener {
    task: Arc<Mutex<JoinSet<()>>>,
}

impl Listener {
    fn start(&self, connector: &Connector, notifier: &Notifier) {
        let Ok(mut task) = self.task.lock() else {
            return;
        };
        if task.is_empty() {
            task.spawn(listen(connector.clone(), notifier.clone()));
        }
    }
}

#[async_trait]
impl WorkNotifier for PostgresStore {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        if let Some(connector) = &self.listening {
            self.listener.start(connector, &self.notifier);
        }
        self.notifier.wait(heard).await
    }
}

async fn listen(connector: Connector, notifier: Notifier) {
    let mut waits = backoff();
    loop {
        match connector.open().await {
            Ok((client, connection)) => {
                let heard = hear(client, connection, &notifier).await;
                if heard > 0 {
                    waits = backoff();
                }
            }
            Err(error) => tracing::warn!(
                error = format_error_chain(&error),
                "cannot listen for work of other processes"
            ),
        }
        tokio::time::sleep(waits.next().unwrap_or(LONGEST_WAIT)).await;
    }
}

/// Listens until the connection ends. Returns the number of notifications.
async fn hear(
    client: tokio_postgres::Client,
    mut connection: DrivenConnection,
    notifier: &Notifier,
) -> u64 {
    let mut heard = 0;
    let listening = async {
        let listening = client.batch_execute(LISTEN).await;
        // Notifications from before the connection are lost, so waiters look once.
        notifier.notify();
        if listening.is_ok() {
            std::future::pending::<()>().await;
        }
    };
    tokio::pin!(listening);
    loop {
        let message = std::future::poll_fn(|context| connection.poll_message(context));
        tokio::select! {
            () = &mut listening => return heard,
            message = message => match message {
                Some(Ok(AsyncMessage::Notification(_))) => {
                    heard += 1;
                    notifier.notify();
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return heard,
            },
        }
    }
}

fn backoff() -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(SHORTEST_WAIT)
        .with_max_delay(LONGEST_WAIT)
        .with_jitter()
        .without_max_times()
        .build()
}
