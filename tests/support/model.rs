//! Implements a strict fake of the model providers: OpenAI (and Azure), Anthropic, Gemini (and Vertex), Bedrock.
//!
//! The fake refuses whatever the real provider refuses, with that provider's status and message, so that an accepted
//! request is valid. Its answers, good ones and faults F20 to F23 alike, have that provider's format. The fake uses no
//! other crate of the project, and the official SDKs of all four providers test it in `tests/it/fake.rs`.
//! `tests/support/README.md` shows how to use it.
//!
//! It does not check what providers do not document: whether a model exists, or how long a prompt may be.

mod anthropic;
mod bedrock;
mod cache;
mod check;
mod effort;
mod fault;
mod gemini;
mod model_rules;
mod nonsense;
mod obedient;
mod openai;
mod provider;
mod provider_error;
mod reasoning_binding;
mod record;
mod reply;
mod request;
mod schema;
mod script;
mod server;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use nonsense::Nonsense;
pub use obedient::{Orders, answer as obey};
pub use openai::OpenAiServer;
pub use provider::Provider;
pub use provider_error::{ProviderError, ProviderErrorKind, RetryAfter};
pub use record::Refusal;
pub use reply::{Answer, ArgumentsFault, Fault, Reply, StopReason, ToolCall, Usage};
pub use request::{MessagePart, RecordedRequest, Tool, ToolChoice, Turn};
pub use script::Script;

use record::RequestRecord;
use server::ServerState;

/// Largest body that the fake reads; Anthropic's limit is 32 MB.
const MAX_BODY_BYTES: usize = 32 << 20;

/// A running fake, which stops when dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<ServerState>,
    _tasks: JoinSet<std::io::Result<()>>,
}

impl FakeModel {
    /// Starts a fake on a free port of 127.0.0.1.
    pub async fn start(script: Script) -> std::io::Result<Self> {
        Self::listen(script, SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts a fake at an address.
    pub async fn listen(script: Script, address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let shared = Arc::new(ServerState {
            script,
            record: RequestRecord::default(),
        });
        let stop = shared.record.stop.clone();
        let app = axum::Router::new()
            .fallback(server::handle)
            .layer(axum::extract::DefaultBodyLimit::max(MAX_BODY_BYTES))
            .with_state(Arc::clone(&shared));
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            axum::serve(listener, app)
                .with_graceful_shutdown(stop.cancelled_owned())
                .await
        });
        Ok(Self {
            address,
            shared,
            _tasks: tasks,
        })
    }

    /// Returns the base URL of a provider, as Nightshift's configuration and the SDKs expect it.
    #[must_use]
    pub fn base_url(&self, provider: Provider) -> String {
        format!("http://{}{}", self.address, provider.base_path())
    }

    /// Returns the accepted requests in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.shared.record.requests()
    }

    /// Returns the number of accepted requests, also for a forgetful script.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.record.accepted()
    }

    /// Returns the requests that the provider would have refused. Every test should end with none.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.shared.record.refusals()
    }

    /// Returns the number of requests for which the script had no reply left.
    #[must_use]
    pub fn shortfalls(&self) -> usize {
        self.shared.record.shortfalls()
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.record.in_flight().0
    }

    /// Returns the highest number of requests in flight.
    #[must_use]
    pub fn max_in_flight(&self) -> usize {
        self.shared.record.in_flight().1
    }

    /// Releases all requests that hang or stall now.
    pub fn release(&self) {
        self.shared.record.release();
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.record.stop.cancel();
    }
}
