//! A strict fake of the model providers: OpenAI (and Azure), Anthropic, Gemini (and Vertex), Bedrock.
//!
//! It refuses what the real provider refuses, with that provider's status and words, so that a request which it takes
//! is a good one; and it answers in that provider's form, good answers and faults F20 to F23 alike. It uses none of
//! our own crates, and the official SDKs of all four drive it in `tests/it/fake.rs`: that is the proof of both.
//! `tests/support/README.md` shows how it is used.
//!
//! It does not check what the providers do not say: whether a model exists, or how much a prompt may hold.

mod anthropic;
mod bedrock;
mod bound;
mod cache;
mod check;
mod effort;
mod fault;
mod gemini;
mod models;
mod nonsense;
mod obedient;
mod openai;
mod provider;
mod record;
mod reply;
mod schema;
mod script;
mod seen;
mod server;
mod trouble;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use nonsense::Nonsense;
pub use obedient::{Orders, answer as obey};
pub use openai::Server;
pub use provider::Provider;
pub use record::Refusal;
pub use reply::{Answer, Arguments, Called, Fault, Reply, Stop, Usage};
pub use script::Script;
pub use seen::{Choice, Said, Seen, Tool, Turn};
pub use trouble::{Kind, Trouble, Wait};

use record::Record;
use server::Shared;

/// Bodies that the fake reads; Anthropic reads 32 MB.
const MOST_BYTES: usize = 32 << 20;

/// A fake that listens; dropped, it stops.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<std::io::Result<()>>,
}

impl FakeModel {
    /// Starts one on a free port of 127.0.0.1.
    ///
    /// # Errors
    ///
    /// When no port can be had.
    pub async fn start(script: Script) -> std::io::Result<Self> {
        Self::listen(script, SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts one at an address.
    ///
    /// # Errors
    ///
    /// When it cannot be listened at.
    pub async fn listen(script: Script, address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let shared = Arc::new(Shared {
            script,
            record: Record::default(),
        });
        let stop = shared.record.stop.clone();
        let app = axum::Router::new()
            .fallback(server::handle)
            .layer(axum::extract::DefaultBodyLimit::max(MOST_BYTES))
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

    /// The base address of a provider, as our configuration and the SDKs want it.
    #[must_use]
    pub fn base_url(&self, provider: Provider) -> String {
        format!("http://{}{}", self.address, provider.base_path())
    }

    /// The requests that were accepted, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Arc<Seen>> {
        self.shared.record.requests()
    }

    /// How many requests were accepted; also where the script is forgetful.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.record.accepted()
    }

    /// The requests that the provider would not have taken. A test of ours ends with none.
    #[must_use]
    pub fn refusals(&self) -> Vec<Refusal> {
        self.shared.record.refusals()
    }

    /// How many requests found no answer left in the script.
    #[must_use]
    pub fn shortfalls(&self) -> usize {
        self.shared.record.shortfalls()
    }

    /// How many requests are being answered now.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.shared.record.in_flight().0
    }

    /// How many were at the most.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.shared.record.in_flight().1
    }

    /// Lets go of what hangs or stalls now.
    pub fn release(&self) {
        self.shared.record.release();
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.record.stop.cancel();
    }
}
