//! Tests TLS to a server whose certificate comes from a private authority.

use std::path::Path;

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::port::Clock;

use super::cluster::as_server;
use super::*;
use crate::postgres::PostgresOpenError;

/// Counts encrypted and plain connections.
const ENCRYPTED: &str = "SELECT count(*) FILTER (WHERE ssl), count(*) FILTER (WHERE NOT ssl) \
     FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'nightshift'";

fn openssl(folder: &Path, arguments: &str) {
    let done = as_server(Path::new("openssl"))
        .args(arguments.split(' '))
        .current_dir(folder)
        .stderr(std::process::Stdio::null())
        .status();
    assert!(done.unwrap().success(), "openssl {arguments}");
}

/// Creates an authority with its certificate in `NAME.pem`.
fn authority(folder: &Path, name: &str) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(
        folder,
        &format!("req -x509 {key} -days 2 -subj /CN={name} -keyout {name}.key -out {name}.pem"),
    );
}

/// Starts a server with a certificate of the authority `ours`, beside an authority `other`.
fn cluster() -> Option<Cluster> {
    let has_openssl = std::process::Command::new("openssl")
        .arg("version")
        .output();
    if has_openssl.is_err() {
        eprintln!("not tested: there is no program openssl to make certificates with");
        return None;
    }
    Cluster::start_with(|folder| {
        authority(folder, "ours");
        authority(folder, "other");
        std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
        openssl(
            folder,
            &format!("req {key} -subj /CN=database -keyout server.key -out server.csr"),
        );
        openssl(
            folder,
            "x509 -req -in server.csr -CA ours.pem -CAkey ours.key -CAcreateserial -days 2 -extfile names -out server.pem",
        );
        let folder = folder.display();
        format!(
            "-c ssl=on -c ssl_cert_file={folder}/server.pem -c ssl_key_file={folder}/server.key"
        )
    })
}

fn trusting(cluster: &Cluster, authority: &str) -> StoreOptions {
    let mut options = options();
    options.ca_file = Some(cluster.folder().join(authority));
    options.waits.patience = Duration::ZERO;
    options
}

#[tokio::test]
async fn a_server_of_a_private_authority_is_spoken_with_in_secret() {
    let Some(cluster) = cluster() else {
        return;
    };
    let plain = cluster.url();
    for mode in ["prefer", "verify-full"] {
        let url = plain.replace("sslmode=disable", &format!("sslmode={mode}"));
        let store = SqlStore::open_postgres(&url, trusting(&cluster, "ours.pem"))
            .await
            .unwrap();
        let heard = store.wait_for_work(0).await;
        accept(&store, numbered(0)).await;
        assert!(store.wait_for_work(heard).await > heard, "it listens too");
        let client = connect(&plain).await;
        let [encrypted, plain] = texts(&client, ENCRYPTED)
            .await
            .remove(0)
            .try_into()
            .unwrap();
        assert!(encrypted.parse::<u32>().unwrap() >= 2, "{encrypted}");
        assert_eq!(plain, "0");
    }
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused() {
    let Some(cluster) = cluster() else {
        return;
    };
    for mode in ["prefer", "require", "verify-full"] {
        let url = cluster
            .url()
            .replace("sslmode=disable", &format!("sslmode={mode}"));
        let refused = SqlStore::open_postgres(&url, trusting(&cluster, "other.pem")).await;
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                PostgresOpenError::Connect(_) | PostgresOpenError::Migrate(_)
            ),
            "{error:?}"
        );
        let told = format!("{error:?}");
        assert!(told.contains("UnknownIssuer"), "{told}");
    }
}

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> chrono::DateTime<chrono::Utc> {
        at(0)
    }
}

/// Returns the findings of the doctor about the connection, each with its remedy.
async fn told(url: &str, options: StoreOptions) -> Vec<String> {
    told_of(url, options, "store.unreachable").await
}

/// Returns the findings of one check of the doctor, each with its remedy.
pub(super) async fn told_of(url: &str, options: StoreOptions, check: &str) -> Vec<String> {
    let mut checkup = HealthReport::default();
    probe(url, options, &FixedClock, &mut checkup).await;
    let of_check = checkup.failed_checks.into_iter();
    let of_check = of_check.filter(|one| one.check == check);
    of_check
        .map(|one| format!("{}; {}", one.what, one.mend))
        .collect()
}

#[tokio::test]
async fn certificate_of_wrong_name_differs_from_wrong_authority() {
    let Some(cluster) = cluster() else {
        return;
    };
    let url = cluster.url().replace("sslmode=disable", "sslmode=require");
    assert_eq!(told(&url, trusting(&cluster, "ours.pem")).await, [""; 0]);
    let unknown = told(&url, trusting(&cluster, "other.pem")).await.concat();
    assert!(unknown.contains("goes into [store] ca_file"), "{unknown}");
    // This is the same server by a name that is not in its certificate.
    let by_name = url.replace("127.0.0.1", "localhost");
    let other = told(&by_name, trusting(&cluster, "ours.pem"))
        .await
        .concat();
    assert!(other.contains("not valid for name"), "{other}");
    assert!(
        other.contains("a name that the certificate is valid for"),
        "{other}"
    );
    assert!(!other.contains("goes into [store] ca_file"), "{other}");
}
