//! Opens connections: the address, TLS, the current password, and the limits of a session.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use deadpool_postgres::Connect;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::form_urlencoded;

use super::PostgresOpenError;
use crate::options::{DatabasePassword, StoreOptions, StoreTimeouts, exposed};

/// A connection that its owner has to poll.
pub(super) type DrivenConnection =
    Connection<Socket, <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<Socket>>::Stream>;

/// Opens connections.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    password: Arc<Option<DatabasePassword>>,
    ca_file: Option<PathBuf>,
    waits: StoreTimeouts,
    /// The first statements on each connection. Behind a pooler there are none.
    greeting: Option<String>,
}

impl Connector {
    /// Creates a connector from the address and the options.
    pub(super) fn new(url: &str, options: &mut StoreOptions) -> Result<Self, PostgresOpenError> {
        if let Some(password) = &options.password {
            let unread = |(path, cause)| PostgresOpenError::Password { path, cause };
            password.first().map_err(unread)?;
        }
        let waits = options.waits;
        let (config, tls) = parse(url, options.ca_file.clone(), waits)?;
        if options.pooled && config.get_options().is_some() {
            return Err(PostgresOpenError::PooledOptions);
        }
        Ok(Self {
            config,
            tls,
            password: Arc::new(options.password.take()),
            ca_file: options.ca_file.clone(),
            waits,
            greeting: (!options.pooled).then(|| limits("SET", waits)),
        })
    }

    /// Creates a connector to another address, with the same password and certificates.
    pub(super) fn to(&self, url: &str) -> Result<Self, PostgresOpenError> {
        let (config, tls) = parse(url, self.ca_file.clone(), self.waits)?;
        Ok(Self {
            config,
            tls,
            ..self.clone()
        })
    }

    /// Returns the configuration for the pool. [`Connect`] sets the rest.
    pub(super) fn config(&self) -> Config {
        self.config.clone()
    }

    /// Opens a connection that the caller polls.
    pub(super) async fn open(&self) -> Result<(Client, DrivenConnection), Error> {
        let mut config = self.config.clone();
        if let Some(password) = self
            .password
            .as_ref()
            .as_ref()
            .and_then(DatabasePassword::current)
        {
            config.password(exposed(&password));
        }
        config.connect(self.tls.clone()).await
    }

    /// Opens a connection that ends with the returned task, and sets no limits on it.
    pub(super) async fn open_driven(&self) -> Result<(Client, JoinSet<()>), Error> {
        let (client, connection) = self.open().await?;
        let mut driving = JoinSet::new();
        driving.spawn(async {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database has ended");
            }
        });
        Ok((client, driving))
    }
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connector")
            .field("hosts", &self.config.get_hosts())
            .field("dbname", &self.config.get_dbname())
            .finish_non_exhaustive()
    }
}

type ConnectFuture<'a> =
    Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + 'a>>;

impl Connect for Connector {
    fn connect(&self, _: &Config) -> ConnectFuture<'_> {
        Box::pin(async move {
            let (client, connection) = self.open().await?;
            // The pool owns the task and ends it with its connection.
            let task = tokio::runtime::Handle::current().spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection to the database has ended");
                }
            });
            let greeted = match &self.greeting {
                Some(greeting) => client.batch_execute(greeting).await,
                None => Ok(()),
            };
            match greeted {
                Ok(()) => Ok((client, task)),
                Err(error) => {
                    task.abort();
                    Err(error)
                }
            }
        })
    }
}

/// Returns the statements that set limits: of a session with `SET`, of a transaction with `SET LOCAL`. They are not sent
/// as startup options, because poolers refuse those. JIT compilation and parallel workers are off: by the planner's
/// estimates for the longest tables, they would cost more time than they save.
pub(super) fn limits(set: &str, waits: StoreTimeouts) -> String {
    format!(
        "{set} statement_timeout = {}; {set} lock_timeout = {}; {set} idle_in_transaction_session_timeout = {}; \
         {set} timezone = 'UTC'; {set} jit = off; {set} max_parallel_workers_per_gather = 0",
        waits.statement.as_millis(),
        waits.lock.as_millis(),
        // This limit ends the transaction of a frozen worker before others give up waiting for its locks.
        waits.lock.as_millis() * 3 / 5
    )
}

/// Returns the settings of connections to an address.
fn parse(
    url: &str,
    ca_file: Option<PathBuf>,
    waits: StoreTimeouts,
) -> Result<(Config, MakeRustlsConnect), PostgresOpenError> {
    let (url, asked) = split(url)?;
    let mut config: Config = url.parse().map_err(PostgresOpenError::Url)?;
    config
        .ssl_mode(asked.mode)
        .application_name("nightshift")
        .connect_timeout(waits.connect)
        // Keepalives detect a server that is gone without closing the connection.
        .keepalives_idle(waits.statement)
        .tcp_user_timeout(waits.statement + waits.lock);
    let ca_file = ca_file.or(asked.root_cert);
    let tls = MakeRustlsConnect::new(tls(asked.mode, ca_file.as_deref())?);
    Ok((config, tls))
}

/// The TLS settings of an address.
#[derive(Debug, PartialEq, Eq)]
struct TlsSettings {
    mode: SslMode,
    root_cert: Option<PathBuf>,
}

/// Removes the settings from the address that the driver does not know: `sslrootcert`, and the modes `verify-ca` and
/// `verify-full`, whose checks are always made.
fn split(url: &str) -> Result<(String, TlsSettings), PostgresOpenError> {
    let mut asked = TlsSettings {
        mode: SslMode::Prefer,
        root_cert: None,
    };
    let Some((head, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), asked));
    };
    let mut rest = form_urlencoded::Serializer::new(String::new());
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        match (name.as_ref(), value.as_ref()) {
            ("sslmode", "disable") => asked.mode = SslMode::Disable,
            ("sslmode", "allow" | "prefer") => asked.mode = SslMode::Prefer,
            ("sslmode", "require" | "verify-ca" | "verify-full") => asked.mode = SslMode::Require,
            ("sslmode", other) => return Err(PostgresOpenError::SslMode(other.to_owned())),
            ("sslrootcert", "system") => {}
            ("sslrootcert", path) => asked.root_cert = Some(path.into()),
            _ => {
                rest.append_pair(&name, &value);
            }
        }
    }
    let rest = rest.finish();
    let sign = if rest.is_empty() { "" } else { "?" };
    // The driver does not decode `+`.
    Ok((format!("{head}{sign}{}", rest.replace('+', "%20")), asked))
}

/// Returns the certificate file that an address names, if any.
pub(crate) fn root_certificate_file(url: &str) -> Option<PathBuf> {
    split(url).ok()?.1.root_cert
}

/// Creates the TLS connector. Certificates and host names are always checked, unless TLS is off.
fn tls(
    mode: SslMode,
    ca_file: Option<&std::path::Path>,
) -> Result<ClientConfig, PostgresOpenError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(PostgresOpenError::Tls)?;
    if let Some(path) = ca_file {
        let unread = |cause: rustls::pki_types::pem::Error| PostgresOpenError::CaFile {
            path: path.to_owned(),
            cause: Box::new(cause),
        };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(unread)? {
            roots
                .add(certificate.map_err(unread)?)
                .map_err(PostgresOpenError::Tls)?;
        }
        if roots.is_empty() {
            return Err(unread(rustls::pki_types::pem::Error::NoItemsFound));
        }
        return Ok(builder.with_root_certificates(roots).with_no_client_auth());
    }
    if mode == SslMode::Disable {
        let nobody = RootCertStore::empty();
        return Ok(builder.with_root_certificates(nobody).with_no_client_auth());
    }
    match rustls_platform_verifier::Verifier::new(provider) {
        Ok(verifier) => Ok(builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth()),
        // Without system certificates, a server without TLS can still be used, as `prefer` allows.
        Err(error) if mode == SslMode::Prefer => {
            tracing::warn!(%error, "this system has no certificates to check a database with");
            let nobody = RootCertStore::empty();
            Ok(builder.with_root_certificates(nobody).with_no_client_auth())
        }
        Err(error) => Err(PostgresOpenError::Tls(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(url: &str) -> (String, SslMode, Option<PathBuf>) {
        let (url, asked) = split(url).unwrap();
        url.parse::<Config>().unwrap();
        (url, asked.mode, asked.root_cert)
    }

    #[test]
    fn what_an_address_says_of_tls_is_taken_from_it() {
        let plain = "postgres://ana:p%40ss@db.example.com:5433/cases".to_owned();
        let with = |query: &str| asked(&format!("{plain}{query}"));
        assert_eq!(with(""), (plain.clone(), SslMode::Prefer, None));
        let found = with("?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem");
        let ca = Some("/etc/ca.pem".into());
        assert_eq!(found, (plain.clone(), SslMode::Require, ca));
        let found = with("?options=-c%20search_path%3Dours&sslmode=disable");
        assert_eq!(found.1, SslMode::Disable);
        assert!(found.0.ends_with("?options=-c%20search_path%3Dours"));
        let two = "postgres://one:5432,two:5432/cases?target_session_attrs=read-write";
        assert_eq!(asked(two).0, two);
        assert!(matches!(
            split("postgres://h/d?sslmode=maybe"),
            Err(PostgresOpenError::SslMode(_))
        ));
    }

    #[test]
    fn a_file_without_a_certificate_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = tls(SslMode::Require, Some(file.path())).unwrap_err();
        assert!(matches!(error, PostgresOpenError::CaFile { .. }), "{error}");
    }
}
