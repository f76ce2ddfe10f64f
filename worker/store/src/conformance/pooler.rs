//! Runs PgBouncer in front of the test server, one process for each test.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

use super::server::{connect, environment};

/// A PgBouncer that ends with this value.
pub(crate) struct Pooler {
    process: Child,
    url: url::Url,
    _folder: tempfile::TempDir,
}

impl Pooler {
    /// Starts a pooler with these settings in front of the server at this address. Prints a note and returns `None` if
    /// the program is not installed.
    pub(crate) fn before(server: &str, settings: &str) -> Option<Self> {
        let Some(program) = environment("NIGHTSHIFT_TEST_PGBOUNCER") else {
            eprintln!(
                "not tested behind a pooler: NIGHTSHIFT_TEST_PGBOUNCER names no PgBouncer; run tests/services"
            );
            return None;
        };
        let mut url = url::Url::parse(server).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        // PgBouncer refuses to run as root, and then changes to this user.
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        let folder = tempfile::tempdir().unwrap();
        let users = folder.path().join("users.txt");
        std::fs::write(&users, format!("\"{}\" \"\"\n", url.username())).unwrap();
        let config = format!(
            "[databases]\n* = host={} port={} user={} password={}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = trust\n\
             auth_file = {}\nadmin_users = {}\nmax_client_conn = 200\nlog_connections = 0\nlog_disconnections = 0\n{}{settings}\n",
            url.host_str().unwrap(),
            url.port().unwrap(),
            url.username(),
            url.password().unwrap(),
            users.display(),
            url.username(),
            if is_root { "user = postgres\n" } else { "" },
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, config).unwrap();
        let mut process = Command::new(program)
            .arg(file)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let is_up = log.any(|line| line.unwrap().contains("process up"));
        assert!(is_up, "PgBouncer does not start");
        // PgBouncer goes on without a reader of its log.
        url.set_port(Some(port)).unwrap();
        Some(Self {
            process,
            url,
            _folder: folder,
        })
    }

    /// Returns the address of the database behind the pooler.
    pub(crate) fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Executes a command of PgBouncer's console.
    pub(crate) async fn command(&self, command: &str) {
        let mut console = self.url.clone();
        console.set_path("pgbouncer");
        connect(console.as_str())
            .await
            .batch_execute(command)
            .await
            .unwrap();
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
