//! Tests reports to a webhook: what a receiver on this machine gets, and how a rejected post is handled.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

/// Starts a receiver that answers successive posts with these statuses and returns the head and body of each.
fn receiver(statuses: &'static [&str]) -> (String, JoinHandle<Vec<(String, Value)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let posts = std::thread::spawn(move || {
        let answer = |status: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let post = read(&mut stream);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            post
        };
        statuses.iter().map(answer).collect()
    });
    (url, posts)
}

fn read(stream: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 8192];
        let count = stream.read(&mut piece).unwrap();
        assert!(count > 0, "the post ended too early");
        bytes.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return (head.to_owned(), body);
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> &'a str {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.unwrap_or_else(|| panic!("no {name} in {head}")).1
}

/// Returns a place whose reports all go to this address.
fn place(url: &str) -> Sandbox {
    let mut place = Sandbox::new().unwrap();
    let text = format!(
        "[[destination]]\nname = \"soar\"\nkind = \"webhook\"\nurl = \"{url}\"\nsecret = \"env:HOOK_SECRET\"\n\
         [[route]]\ndestinations = [\"soar\"]\n"
    );
    place.write_file("nightshift.toml", text).unwrap();
    place.set_env("HOOK_SECRET", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX");
    place
}

fn triage(place: &Sandbox, name: &str) -> Value {
    let file = repository_root().join("deploy/demo/alerts").join(name);
    let file = file.to_str().unwrap();
    let ran = place
        .run(&["run", file, "--format", "json", "--quiet"])
        .unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_report_is_posted_as_it_is_printed() {
    let (url, posts) = receiver(&["204 No Content"]);
    let report = triage(&place(&url), "10-public-bucket.guardduty.json");
    let [(head, event)] = posts.join().unwrap().try_into().unwrap();
    assert_eq!(event["data"], report);
    assert_eq!(event["subject"], report["case_id"]);
    assert_eq!(header(&head, "webhook-id"), event["id"].as_str().unwrap());
    assert!(header(&head, "webhook-signature").starts_with("v1,"));
}

#[test]
fn what_a_receiver_never_takes_is_told_and_not_sent_again() {
    let (url, posts) = receiver(&["410 Gone", "200 OK"]);
    let place = place(&url);
    let refused = triage(&place, "10-public-bucket.guardduty.json");
    let case = refused["case_id"].as_str().unwrap();
    let shown = place.run(&["cases", "show", case]).unwrap();
    let line = "soar: not shown after 1 tries: 127.0.0[.]1 answered 410 Gone";
    assert!(shown.stdout.contains(line), "{}", shown.stdout);

    let other = triage(&place, "03-port-scan.eventbridge.json");
    let [(_, first), (_, second)] = posts.join().unwrap().try_into().unwrap();
    assert_eq!(first["subject"], refused["case_id"]);
    assert_eq!(second["subject"], other["case_id"]);
}
