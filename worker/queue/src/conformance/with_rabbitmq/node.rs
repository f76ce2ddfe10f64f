//! Runs `rabbitmqctl` and the nodes of single tests through `tests/rabbitmq`.

use tokio::process::Command;

/// The script in the repository.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/rabbitmq");

async fn script(arguments: &[&str]) -> String {
    let done = Command::new(SCRIPT).args(arguments).output().await.unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(
        done.status.success(),
        "tests/rabbitmq {arguments:?}: {text}{complaint}"
    );
    text
}

/// Runs `rabbitmqctl` for the node in this folder.
pub(super) async fn ctl(dir: &str, arguments: &[&str]) -> String {
    script(&[&["ctl", dir], arguments].concat()).await
}

/// A node that a test may stop.
pub(super) struct Node {
    dir: tempfile::TempDir,
    pub(super) url: String,
}

impl Node {
    pub(super) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut node = Self {
            dir,
            url: String::new(),
        };
        node.url = node.again().await;
        node
    }

    fn path(&self) -> &str {
        self.dir.path().to_str().unwrap()
    }

    /// Restarts the node at the same address with its data.
    pub(super) async fn again(&self) -> String {
        script(&["start", self.path()]).await.trim().to_owned()
    }

    pub(super) async fn kill(&self) {
        script(&["kill", self.path()]).await;
    }

    pub(super) async fn ctl(&self, arguments: &[&str]) {
        ctl(self.path(), arguments).await;
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let stopped = std::process::Command::new(SCRIPT)
            .args(["stop", self.path()])
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("a node is left behind in {}", self.path());
        }
    }
}
