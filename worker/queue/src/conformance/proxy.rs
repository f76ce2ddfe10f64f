//! Provides a proxy between a source and its broker whose behaviour a test controls.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Behaviour of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyMode {
    /// Forwards everything.
    Carry,
    /// Drops everything silently: no end, no error.
    Swallow,
    /// Cuts existing connections and accepts no new ones.
    Cut,
}

/// A listener on 127.0.0.1 in front of a broker.
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(super) async fn before(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mode, seen) = watch::channel(ProxyMode::Carry);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((near, _)) = listener.accept().await {
                connections.spawn(carry(near, target, seen.clone()));
            }
        });
        Self {
            address,
            mode,
            _tasks: tasks,
        }
    }

    pub(super) fn set(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }
}

async fn carry(mut near: TcpStream, target: SocketAddr, mut mode: watch::Receiver<ProxyMode>) {
    let Ok(mut far) = TcpStream::connect(target).await else {
        return;
    };
    let (mut up, mut down) = ([0; 16 * 1024], [0; 16 * 1024]);
    loop {
        let now = *mode.borrow_and_update();
        match now {
            ProxyMode::Cut => return,
            ProxyMode::Swallow => {
                // The connection stays open and silent until the mode changes. Its data is lost, as in a real
                // network.
                if mode.changed().await.is_err() {
                    return;
                }
                return;
            }
            ProxyMode::Carry => {}
        }
        tokio::select! {
            changed = mode.changed() => if changed.is_err() { return },
            read = near.read(&mut up) => match read {
                Ok(count) if count > 0 => if far.write_all(&up[..count]).await.is_err() { return },
                _ => return,
            },
            read = far.read(&mut down) => match read {
                Ok(count) if count > 0 => if near.write_all(&down[..count]).await.is_err() { return },
                _ => return,
            },
        }
    }
}
