//! Tests that requests are answered while the configuration is reloaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nightshift_tests::{RunningProgram, Sandbox, sample_finding};
use reqwest::{Client, RequestBuilder};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::fixture::place;
use super::reload::{RENEWED, change};

const TOKEN: &str = "0123456789abcdef-intake";
const RELOADS: usize = 6;
/// The longest wait for an event; bounds a hang.
const HANGS: Duration = Duration::from_secs(60);

/// Starts a worker with an HTTP source and a detailed log, and returns the addresses of its pages and of its intake.
fn started(place: &mut Sandbox) -> (RunningProgram, String, String) {
    place.set_env("INTAKE_TOKEN", TOKEN);
    place.set_env("NIGHTSHIFT__WEB__INTAKE_LISTEN", "127.0.0.1:0");
    change(place, "warn,nightshift_pipeline=info", "info");
    let mut worker = place.start(&["worker"]).unwrap();
    let mut last_word = |text: &str| {
        let line = worker.wait_for_line(text);
        line.rsplit(' ').next().unwrap().to_owned()
    };
    let pages = last_word("the cases are on");
    let posts = last_word("alerts are posted to");
    (worker, pages, posts)
}

fn posted_to() -> Sandbox {
    place("[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"env:INTAKE_TOKEN\"]\n")
}

fn alert(number: usize) -> String {
    let id = format!("r{}", number % 10);
    sample_finding("scc-crypto-miner", &id).unwrap().to_string()
}

/// Repeats a request until the stop signal, counts the answers, and panics unless each status is 200.
async fn asks(
    is_over: Arc<AtomicBool>,
    answered: watch::Sender<usize>,
    ask: impl Fn(usize) -> RequestBuilder,
) {
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let answer = ask(number).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert_eq!(status, 200, "{text}");
        answered.send_modify(|count| *count += 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_post_or_page_request_is_refused_during_reload() {
    let mut place = posted_to();
    let (mut worker, pages, posts) = started(&mut place);
    let is_over = Arc::new(AtomicBool::new(false));
    let kept = Client::builder().no_proxy().build().unwrap();
    let fresh = Client::builder().no_proxy().pool_max_idle_per_host(0);
    let fresh = fresh.build().unwrap();
    let mut loops = JoinSet::new();
    let mut counts = Vec::new();
    // One client keeps its connections, the other opens a new one per request.
    for client in [kept, fresh] {
        let [posted, read] = [(), ()].map(|()| watch::Sender::new(0));
        counts.extend([posted.subscribe(), read.subscribe()]);
        let (poster, url) = (client.clone(), posts.clone());
        let post = move |number| poster.post(&url).bearer_auth(TOKEN).body(alert(number));
        loops.spawn(asks(Arc::clone(&is_over), posted, post));
        let url = pages.clone();
        loops.spawn(asks(Arc::clone(&is_over), read, move |_| client.get(&url)));
    }
    for round in 0..RELOADS {
        let path = |round: usize| format!("path = \"reports{round}\"");
        let before = match round {
            0 => "path = \"reports\"".to_owned(),
            _ => path(round - 1),
        };
        change(&place, &before, &path(round));
        worker.signal("HUP");
        worker.wait_for_line(RENEWED);
        // Every client must get further answers after the reload.
        for count in &mut counts {
            let seen = *count.borrow();
            let more = count.wait_for(|count| *count > seen + 1);
            let more = tokio::time::timeout(HANGS, more).await;
            more.unwrap().expect("it is not answered any more");
        }
    }
    is_over.store(true, Ordering::Relaxed);
    while let Some(ended) = loops.join_next().await {
        ended.unwrap();
    }
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_post_that_comes_slowly_is_taken_by_whom_it_came_to() {
    let mut place = posted_to();
    let (mut worker, _, posts) = started(&mut place);
    let address = posts.trim_start_matches("http://");
    let address = address.trim_end_matches("/v1/alerts");
    let body = alert(1);
    let (first, rest) = body.split_at(body.len() / 2);
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/alerts HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{first}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    change(&place, "path = \"reports\"", "path = \"others\"");
    worker.signal("HUP");
    worker.wait_for_line(RENEWED);
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    worker.wait_for_line("report shown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_has_changed_is_left_and_the_others_stay() {
    let mut place = posted_to();
    let (mut worker, pages, posts) = started(&mut place);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let next = port.local_addr().unwrap();
    drop(port);
    change(
        &place,
        "listen = \"127.0.0.1:0\"",
        &format!("listen = \"{next}\""),
    );
    worker.wait_for_line("a file has changed");
    worker.wait_for_line(&format!("the cases are on http://{next}/"));
    assert!(
        worker
            .wait_for_line("alerts are posted to")
            .ends_with(&posts)
    );
    worker.wait_for_line(RENEWED);
    let client = Client::builder().no_proxy().build().unwrap();
    assert!(client.get(&pages).send().await.is_err(), "nobody is there");
    let there = client.get(format!("http://{next}/")).send().await.unwrap();
    assert_eq!(there.status(), 200);
    let post = client.post(&posts).bearer_auth(TOKEN).body(alert(1));
    assert_eq!(post.send().await.unwrap().status(), 200);
}
