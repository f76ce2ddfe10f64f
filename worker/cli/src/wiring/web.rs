//! Builds the server of the pages on the store and metrics of this process.

use std::sync::Arc;

use nightshift_engine::key::KeyRef;
use nightshift_pipeline::port::Cases;
use nightshift_web::{Server, ServerOptions, ServerParts, StoreReadiness};

use super::destinations::remote_link;
use super::{App, report_producer};
use crate::config::secret_reader;
use crate::exit::Exit;

impl App {
    /// Builds a server that is not bound to an address yet.
    pub(crate) fn server(&self, options: ServerOptions) -> Result<Server, Exit> {
        Server::new(options, self.parts()).map_err(|error| Exit::Failed(error.into()))
    }

    /// Returns the configured options of the server.
    pub(super) fn web_options(&self) -> Result<ServerOptions, Exit> {
        let secret = |text: &str| secret_reader(KeyRef::from(text).location(), &self.base)();
        let options = self.config.web.options(secret);
        options.map_err(|error| Exit::Config(error.into()))
    }

    /// Returns the parts of a server, which is ready when the store is.
    pub(super) fn parts(&self) -> ServerParts {
        let cases: Arc<dyn Cases> = self.store.clone();
        let metrics = Arc::clone(&self.metrics);
        let destinations = self.destinations.clone();
        ServerParts {
            cases: Arc::clone(&cases),
            ledger: self.store.clone(),
            links: Arc::new(move |destination, id| remote_link(&destinations, destination, id)),
            clock: Arc::clone(&self.clock),
            producer: report_producer(),
            readiness: vec![Arc::new(StoreReadiness(cases))],
            metrics: Arc::new(move || metrics.text().map_err(|error| error.to_string())),
        }
    }
}
