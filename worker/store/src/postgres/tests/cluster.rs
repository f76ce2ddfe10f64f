//! Runs a server for one test, with the settings of production, that can be killed and restarted.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::conformance::server::environment;

/// A server that is stopped and removed with the last clone.
#[derive(Clone)]
pub(super) struct Cluster(Arc<Inner>);

struct Inner {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    /// Additional settings of the server.
    more: String,
}

impl Cluster {
    /// Starts a server. Prints a note and returns `None` if its programs are not installed.
    pub(super) fn start() -> Option<Self> {
        Self::start_with(|_| String::new())
    }

    /// Starts a server with additional settings, which may name files in its folder.
    pub(super) fn start_with(settings: impl FnOnce(&Path) -> String) -> Option<Self> {
        let Some(programs) = environment("NIGHTSHIFT_TEST_POSTGRES_BIN") else {
            eprintln!(
                "not tested: NIGHTSHIFT_TEST_POSTGRES_BIN names no PostgreSQL; run tests/services"
            );
            return None;
        };
        let folder = tempfile::Builder::new()
            .prefix("nightshift-cluster-")
            .tempdir_in("/tmp")
            .unwrap();
        // The server runs as another user if the test runs as root.
        let open = std::fs::Permissions::from_mode(0o777);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let cluster = Self(Arc::new(Inner {
            programs: programs.into(),
            more: settings(folder.path()),
            folder,
            port,
        }));
        let inner = &cluster.0;
        inner.run(
            "initdb",
            &[
                "-U",
                "postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--no-sync",
            ],
        );
        cluster.go_on();
        Some(cluster)
    }

    pub(super) fn url(&self) -> String {
        let port = self.0.port;
        format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable")
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// Kills the server without a clean shutdown, as a power failure would.
    pub(super) fn kill(&self) {
        self.0.run("pg_ctl", &["-m", "immediate", "-w", "stop"]);
    }

    /// Starts the server and returns when it accepts connections.
    pub(super) fn go_on(&self) {
        let inner = &self.0;
        let folder = inner.folder.path().display();
        let settings = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c shared_buffers=16MB {}",
            inner.port, inner.more
        );
        let log = format!("{folder}/log");
        inner.run("pg_ctl", &["-l", &log, "-o", &settings, "-w", "start"]);
    }
}

impl Inner {
    fn run(&self, program: &str, arguments: &[&str]) {
        assert!(self.try_run(program, arguments), "{program} {arguments:?}");
    }

    fn try_run(&self, program: &str, arguments: &[&str]) -> bool {
        as_server(&self.programs.join(program))
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .args(arguments)
            .current_dir("/")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap()
            .success()
    }
}

/// Returns a command that runs as the user of the server.
pub(super) fn as_server(program: &Path) -> Command {
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.try_run("pg_ctl", &["-m", "immediate", "-w", "stop"]);
    }
}
