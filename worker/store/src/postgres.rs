//! Implements the store on PostgreSQL, for many processes on one database.
//!
//! Leases and claims use the clock of the database, and every write of a case names the epoch of its claim. A request
//! whose connection was lost is repeated, after a check whether it was committed. The store contains no policy: the
//! accepting transaction calls admission, a pure function of the pipeline.

mod blobs;
mod case_workflow;
mod connect;
mod database;
mod doctor;
mod failure;
mod inbox;
mod listener;
mod migrate;
mod parameter;
mod pooler;
mod request;
mod row;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::port::StoreError;

use crate::blobs::BlobStore;
use crate::full_disk::FullDisk;
use crate::logged_once::LoggedOnce;
use crate::notifier::Notifier;
use crate::options::StoreOptions;
use crate::sql::{Backend, LeaseTerms, Rest, ScanCursors, SqlStore};
use connect::Connector;
pub(crate) use connect::root_certificate_file;
use database::SqlValue;
pub(crate) use database::{Database, Session};
pub(crate) use doctor::probe;
use failure::PostgresFailure;
use listener::Listener;
pub(crate) use listener::NOTIFY;
#[cfg(test)]
pub(crate) use migrate::{migrate, runner_with};
use pooler::PoolerWatch;
pub(crate) use request::Repeat;

/// The maximum number of connections of a process. One of them listens.
const MOST_CONNECTIONS: usize = 10;

/// The error that the database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum PostgresOpenError {
    /// The address cannot be parsed.
    #[error(
        "the address of the database cannot be read; postgres://user@host:5432/database is one"
    )]
    Url(#[source] tokio_postgres::Error),
    /// The value of `sslmode` is unknown.
    #[error(
        "sslmode={0} is not known; there are disable, prefer, require, verify-ca and verify-full"
    )]
    SslMode(String),
    /// The certificate file cannot be read.
    #[error(
        "cannot read certificates from {path}; give a PEM file as sslrootcert or [store] ca_file"
    )]
    CaFile {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: Box<rustls::pki_types::pem::Error>,
    },
    /// The password file cannot be read.
    #[error("cannot read the password of the database from {path}; see [store] password")]
    Password {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS to the database")]
    Tls(#[source] rustls::Error),
    /// The pool cannot be created.
    #[error("cannot make a pool of connections to the database")]
    Pool(#[source] deadpool_postgres::BuildError),
    /// No connection was established.
    #[error("cannot connect to the database; check [store] url, and that the server is up")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A pooler lends each connection for one transaction only.
    #[error(
        "cannot work behind this pooler: it lends a connection of the database for one transaction only (as PgBouncer does \
         with pool_mode = transaction, RDS Proxy, and Supabase on port 6543); {}",
        pooler::REMEDY
    )]
    SharedBackends,
    /// The address for notifications leads to such a pooler.
    #[error(
        "[store] notify_url leads to a pooler that lends a connection for one transaction only, where no notification is \
         heard; write the address of the server itself, or leave it empty"
    )]
    SharedNotifications,
    /// The address has `options`, which a pooler does not keep.
    #[error(
        "[store] url has options, which are not kept where [store] pooled is true; set them for the role instead: \
         ALTER ROLE … SET"
    )]
    PooledOptions,
    /// The schema cannot be migrated.
    #[error("cannot migrate the database")]
    Migrate(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A migration did not get the lock on a table.
    #[error(
        "cannot migrate the database: a table is in use for minutes; end what uses it, and start again (transactions that are open for long: {long})"
    )]
    Locked {
        /// The transactions that may hold the lock.
        long: String,
        /// The error of the server.
        #[source]
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl PostgresOpenError {
    /// Returns whether the error is in the configuration, so that a retry cannot succeed before the configuration
    /// changes.
    pub(crate) const fn is_configuration_error(&self) -> bool {
        match self {
            Self::Url(_)
            | Self::SslMode(_)
            | Self::CaFile { .. }
            | Self::Password { .. }
            | Self::SharedBackends
            | Self::SharedNotifications
            | Self::PooledOptions => true,
            Self::Tls(_)
            | Self::Pool(_)
            | Self::Connect(_)
            | Self::Migrate(_)
            | Self::Locked { .. } => false,
        }
    }
}

/// Cases, inbox, outbox and dead letters in one PostgreSQL database.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    database: Database,
    listener: Listener,
    /// The connector of the listener, if notifications can be heard.
    listening: Option<Connector>,
    notifier: Notifier,
    pooler: PoolerWatch,
    /// The worker that holds a lease. It is only for people; the epoch decides.
    holder: String,
    lease: Duration,
    admission: Arc<AdmissionPolicy>,
    blobs: Option<BlobStore>,
    logged: LoggedOnce,
}

impl PostgresStore {
    /// Connects and migrates the schema if it is older than this version.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid, the server is unreachable, or the schema cannot be migrated.
    pub async fn open(url: &str, mut options: StoreOptions) -> Result<Self, PostgresOpenError> {
        let connector = Connector::new(url, &mut options)?;
        let direct = options.notify_url.as_deref();
        let direct = direct.map(|url| connector.to(url)).transpose()?;
        if !options.pooled {
            pooler::refuse_shared_backends(&connector, options.waits.statement).await?;
        }
        if let Some(direct) = &direct {
            pooler::refuse_shared_notifications(direct, options.waits.statement).await?;
        }
        let listening = direct.or_else(|| (!options.pooled).then(|| connector.clone()));
        let manager = Manager::from_connect(
            connector.config(),
            connector,
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .max_size(MOST_CONNECTIONS - 1)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(options.waits.pool))
            .create_timeout(Some(options.waits.connect))
            .recycle_timeout(Some(options.waits.connect))
            .build()
            .map_err(PostgresOpenError::Pool)?;
        migrate::run(&pool).await?;
        Ok(Self {
            database: Database {
                disk: FullDisk::default(),
                pool,
                waits: options.waits,
                begin_pooled: options.pooled.then(|| {
                    format!("BEGIN; {}", connect::limits("SET LOCAL", options.waits)).into()
                }),
            },
            listening,
            listener: Listener::default(),
            notifier: Notifier::new(),
            pooler: PoolerWatch::default(),
            holder: holder_name(),
            lease: options.lease,
            admission: Arc::new(options.admission),
            blobs: options.blobs,
            logged: LoggedOnce::default(),
        })
    }

    /// Returns this store with another lease and admission policy.
    #[must_use]
    pub(crate) fn with_settings(&self, lease: Duration, admission: AdmissionPolicy) -> Self {
        Self {
            lease,
            admission: Arc::new(admission),
            ..self.clone()
        }
    }

    /// Implements [`nightshift_pipeline::maintenance::StoreMaintenance::migrations`].
    pub(crate) async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        self.retry_read("read the migrations", |session| async move {
            migrate::applied(&session).await
        })
        .await
    }

    /// Implements [`nightshift_pipeline::port::Cases::is_disk_full`].
    pub(crate) fn is_disk_full(&self) -> bool {
        self.database.disk.is_recent()
    }

    /// Implements [`nightshift_pipeline::port::Cases::connection_problem`].
    pub(crate) async fn connection_problem(&self) -> Option<&'static str> {
        if self.database.begin_pooled.is_some() {
            return None;
        }
        let is_shared = self.pooler.is_shared(&self.database).await;
        is_shared
            .then_some("a pooler lends its connections for one transaction only; see [store] url")
    }

    /// Returns a checksum that changes with the migrations.
    #[cfg(test)]
    pub(crate) fn schema_checksum() -> u64 {
        migrate::checksum()
    }

    /// Reads, and repeats the read if the connection was lost.
    async fn retry_read<T, F>(
        &self,
        doing: &'static str,
        work: impl Fn(Arc<Session>) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, PostgresFailure>>,
    {
        let mut tries = self.database.tries(doing);
        loop {
            let one = async {
                let session = Arc::new(self.database.session(&[]).await?);
                let found = work(Arc::clone(&session)).await?;
                if let Some(session) = Arc::into_inner(session) {
                    session.done();
                }
                Ok(found)
            };
            match self.database.within(one).await {
                Ok(found) => return Ok(found),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }

    /// Runs a change that may be repeated, and repeats it if the connection was lost. Returns the number of changed
    /// rows.
    async fn retry_change<const N: usize>(
        &self,
        doing: &'static str,
        sql: &str,
        values: [SqlValue<'_>; N],
    ) -> Result<u64, StoreError> {
        let mut tries = self.database.tries(doing);
        loop {
            let one = async {
                let session = self.database.session(&[]).await?;
                let changed = session.change(sql, values).await?;
                session.done();
                Ok(changed)
            };
            match self.database.within(one).await {
                Ok(changed) => return Ok(changed),
                Err(failure) => tries.backoff(failure).await?,
            }
        }
    }
}

impl From<PostgresStore> for SqlStore {
    fn from(store: PostgresStore) -> Self {
        Self {
            backend: Backend::Postgres(store.database.clone()),
            admission: Arc::clone(&store.admission),
            blobs: store.blobs.clone(),
            notifier: store.notifier.clone(),
            logged: store.logged.clone(),
            cursors: ScanCursors::default(),
            leases: LeaseTerms {
                holder: store.holder.clone(),
                duration: store.lease,
            },
            rest: Rest::Postgres(Box::new(store)),
        }
    }
}

/// Returns a name of this process that people can find: host, process id, and a part that is unique to this start.
fn holder_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = uuid::Uuid::new_v4().simple().to_string();
    let name = name.get(..8).unwrap_or_default();
    format!("{}:{}:{name}", host.trim(), std::process::id())
}
