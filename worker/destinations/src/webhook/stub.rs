//! Runs a local receiver that gives the answers of a test and keeps each request byte for byte.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A header of an answer after which the connection stays open.
pub(crate) const STAYS_OPEN: &str = "x-stays-open: 1\r\n";

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Post {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found: Vec<_> = self.headers.iter().filter(|(own, _)| own == name).collect();
        assert_eq!(found.len(), 1, "{name} in {:?}", self.headers);
        &found[0].1
    }
}

pub(crate) struct Stub {
    pub(crate) url: String,
    posts: Arc<Mutex<Vec<Post>>>,
    _tasks: JoinSet<()>,
}

impl Stub {
    /// Starts a receiver that gives these answers, one per connection, and then repeats the last. An empty answer
    /// closes the connection.
    pub(crate) async fn start(says: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook?key=hush", listener.local_addr().unwrap());
        let posts: Arc<Mutex<Vec<Post>>> = Arc::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, says, Arc::clone(&posts)));
        Self {
            url,
            posts,
            _tasks: tasks,
        }
    }

    pub(crate) fn posts(&self) -> Vec<Post> {
        self.posts.lock().unwrap().clone()
    }
}

/// Builds an answer.
pub(crate) fn say(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

async fn serve(listener: TcpListener, says: Vec<String>, posts: Arc<Mutex<Vec<Post>>>) {
    let mut open = Vec::new();
    for turn in 0.. {
        let (mut stream, _) = listener.accept().await.unwrap();
        let post = read(&mut stream).await;
        posts.lock().unwrap().push(post);
        let say = &says[turn.min(says.len() - 1)];
        let _ = stream.write_all(say.as_bytes()).await;
        if say.contains(STAYS_OPEN) {
            open.push(stream);
        } else {
            let _ = stream.shutdown().await;
        }
    }
}

/// Reads one request. A request without a length has no body.
pub(crate) async fn read(stream: &mut TcpStream) -> Post {
    let mut bytes = Vec::new();
    loop {
        let count = stream.read_buf(&mut bytes).await.unwrap();
        assert!(count > 0, "the post ended too early");
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let mut lines = head.lines();
        let line = lines.next().unwrap().to_owned();
        let headers: Vec<(String, String)> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let post = Post {
            line,
            headers,
            body: body.to_owned(),
        };
        let length = post
            .headers
            .iter()
            .find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, length)| length.parse::<usize>().unwrap());
        if body.len() >= length {
            return post;
        }
    }
}
