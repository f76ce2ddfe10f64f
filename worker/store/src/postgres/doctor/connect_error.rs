//! Explains why a server, or a proxy in front of it, refused the connection, and how to fix that.

use std::error::Error as _;

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::error_chain::format_error_chain;
use rustls::CertificateError;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, Error};

/// Reports why there is no connection.
pub(super) fn report_connect_error(error: &Error, config: &Config, checkup: &mut HealthReport) {
    let what = format!("cannot connect: {}", format_error_chain(error));
    let (check, mend) = match error.code() {
        Some(code) => by_server(code, config),
        None => ("store.unreachable", on_the_way(error).to_owned()),
    };
    let why = "no alert can be accepted, and no case is worked on";
    checkup.add_error(check, what, why, mend);
}

/// Returns the meaning of an error code of the server, and its remedy.
fn by_server(code: &SqlState, config: &Config) -> (&'static str, String) {
    let role = config.get_user().unwrap_or("nightshift");
    let database = config.get_dbname().unwrap_or(role);
    match *code {
        SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            let mend = "see the user in [store] url, [store] password, and the server's pg_hba.conf; \
                        without TLS, `?sslmode=require` may be missing";
            ("store.refused", mend.to_owned())
        }
        SqlState::INSUFFICIENT_PRIVILEGE => {
            let mend = format!("GRANT CONNECT ON DATABASE \"{database}\" TO \"{role}\"");
            ("store.refused", mend)
        }
        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE => {
            let mend = format!(
                "the database takes no connections at all: ALTER DATABASE \"{database}\" ALLOW_CONNECTIONS true, as \
                 its owner, from another database; or name another one in [store] url"
            );
            ("store.refused", mend)
        }
        SqlState::INVALID_CATALOG_NAME => {
            let mend = "make it: `createdb -O nightshift nightshift`, then `nightshift migrate`";
            ("store.no_database", mend.to_owned())
        }
        SqlState::TOO_MANY_CONNECTIONS => {
            let mend = "raise max_connections of the server or the CONNECTION LIMIT of role or database, or run fewer workers: \
                        each holds 10 at the most";
            ("store.connections", mend.to_owned())
        }
        _ => ("store.unreachable", NETWORK.to_owned()),
    }
}

const NETWORK: &str = "see host and port in [store] url, that the server is up, and that the network lets us through; \
    a certificate that is not known goes into [store] ca_file";

/// Returns the remedy for an error without an answer of the server.
fn on_the_way(error: &Error) -> &'static str {
    if is_of_another_name(error) {
        "write a name that the certificate is valid for as the host into [store] url; ca_file does not help here, \
         and docs/database.md says what does where the certificate has no name"
    } else if is_without_tls(error) {
        "there is no TLS there, and sslmode asks for it: switch it on at the server (ssl = on), or name a host and port that \
         have it; sslmode=disable sends alerts and password in the clear"
    } else {
        NETWORK
    }
}

/// Returns whether the server answered that it has no TLS. The driver has no other sign of that than this text. A test
/// checks that it still has.
fn is_without_tls(error: &Error) -> bool {
    let cause = error.source().map(ToString::to_string);
    cause.as_deref() == Some("server does not support TLS")
}

/// Returns whether the certificate of the server is valid, but for another host name.
fn is_of_another_name(error: &Error) -> bool {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let mut refusals = causes.filter_map(|cause| {
        // The inner error of an I/O error is not among its sources.
        let held = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
        held.downcast_ref::<rustls::Error>()
    });
    refusals.any(|refusal| {
        matches!(
            refusal,
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            )
        )
    })
}
