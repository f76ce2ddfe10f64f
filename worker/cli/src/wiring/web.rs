//! The server of the pages, on the store and the metrics of this process.

use std::sync::Arc;

use nightshift_pipeline::Cases;
use nightshift_web::{Parts, Server, ServerOptions, StoreReady};

use super::{App, sender};
use crate::exit::Exit;

impl App {
    /// A server that listens nowhere yet.
    pub(crate) fn server(&self, options: ServerOptions) -> Result<Server, Exit> {
        let cases: Arc<dyn Cases> = Arc::new(self.store.clone());
        let metrics = Arc::clone(&self.metrics);
        let parts = Parts {
            cases: Arc::clone(&cases),
            places: Arc::new(self.store.clone()),
            clock: Arc::clone(&self.clock),
            sender: sender(),
            readiness: vec![Arc::new(StoreReady(cases))],
            metrics: Arc::new(move || metrics.text().map_err(|error| error.to_string())),
        };
        Server::new(options, parts).map_err(|error| Exit::Failed(error.into()))
    }
}
