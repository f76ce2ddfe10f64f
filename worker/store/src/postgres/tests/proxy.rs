//! Runs a proxy between a store and its server. It cuts a connection when the server sends a certain word, so the
//! request is done and its answer is lost. It can also stop forwarding on the existing connections.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A proxy whose connections end with it.
pub(super) struct Proxy {
    pub(super) url: String,
    state: Arc<Mutex<ProxyState>>,
    /// The number of connections that were made, and how many of them are silent.
    made: watch::Sender<usize>,
    silent: watch::Sender<usize>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct ProxyState {
    word: Option<String>,
    cuts: usize,
}

impl Proxy {
    /// Starts a proxy in front of the server at this address.
    pub(super) async fn before(url: &str) -> Self {
        let mut url = url::Url::parse(url).unwrap();
        let server = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        url.set_port(Some(port)).unwrap();
        url.set_host(Some("127.0.0.1")).unwrap();
        let state = Arc::new(Mutex::new(ProxyState::default()));
        let mut tasks = JoinSet::new();
        let shared = Arc::clone(&state);
        let (made, silent) = (watch::Sender::new(0), watch::Sender::new(0));
        let (making, hushing) = (made.clone(), silent.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                making.send_modify(|number| *number += 1);
                let (number, mut silent) = (*making.borrow(), hushing.subscribe());
                let state = Arc::clone(&shared);
                connections.spawn(async move {
                    // Both ends stay open, and nothing is read from them.
                    let (mut client, mut server) = (client, server);
                    tokio::select! {
                        () = pass(&mut client, &mut server, state) => {}
                        () = async { drop(silent.wait_for(|silent| *silent >= number).await) } => std::future::pending().await,
                    }
                });
            }
        });
        Self {
            url: url.into(),
            state,
            made,
            silent,
            _tasks: tasks,
        }
    }

    /// Cuts the next connection on which the server sends this word, once.
    pub(super) fn cut_at(&self, word: &str) {
        self.state.lock().unwrap().word = Some(word.to_owned());
    }

    /// Silences the existing connections. New ones work as usual.
    pub(super) fn hush(&self) {
        self.silent.send_replace(*self.made.borrow());
    }

    /// Returns the number of cut connections.
    pub(super) fn cuts(&self) -> usize {
        self.state.lock().unwrap().cuts
    }
}

async fn pass(client: &mut TcpStream, server: &mut TcpStream, state: Arc<Mutex<ProxyState>>) {
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let asking = tokio::io::copy(&mut from_client, &mut to_server);
    let answering = async {
        let mut bytes = vec![0; 1 << 16];
        loop {
            let Ok(length @ 1..) = from_server.read(&mut bytes).await else {
                return;
            };
            if state.lock().unwrap().is_cut(&bytes[..length])
                || to_client.write_all(&bytes[..length]).await.is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        _ = asking => {}
        () = answering => {}
    }
}

impl ProxyState {
    fn is_cut(&mut self, said: &[u8]) -> bool {
        let is_said = |word: &String| said.windows(word.len()).any(|some| some == word.as_bytes());
        let is_cut = self.word.as_ref().is_some_and(is_said);
        if is_cut {
            self.word = None;
            self.cuts += 1;
        }
        is_cut
    }
}
