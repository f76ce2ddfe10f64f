//! Tests the demo without `--once`: its cases can be read in a browser until it is stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::{cases, nightshift, tempdir, word};

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Starts the demo and returns its process and the address of its pages.
pub(super) fn serving(folder: &Path) -> (Child, String) {
    let mut demo = nightshift(folder)
        .args(["demo", "--port", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(demo.stderr.take().unwrap()).lines();
    let address = said
        .map_while(Result::ok)
        .find_map(|line| {
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split_once('/')?.0.to_owned())
        })
        .expect("the address of the pages");
    (demo, address)
}

/// Stops the demo and waits until it has ended.
pub(super) fn stop(mut demo: Child) {
    let told = Command::new("kill")
        .arg(demo.id().to_string())
        .status()
        .unwrap();
    assert!(told.success() && demo.wait().unwrap().success());
}

#[test]
fn the_demo_serves_its_cases_until_it_is_told_to_stop() {
    let folder = tempdir().unwrap();
    let (demo, address) = serving(folder.path());
    let list = get(&address, "/");
    assert!(list.starts_with("HTTP/1.1 200 OK"), "{list}");
    for (_, case) in cases(folder.path()) {
        let id = word(&case, "id");
        assert!(
            list.contains(&format!("href=\"/cases/{id}\"")),
            "{id} in {list}"
        );
        let page = get(&address, &format!("/cases/{id}"));
        assert!(
            page.starts_with("HTTP/1.1 200 OK") && page.contains(id),
            "{page}"
        );
    }
    assert!(get(&address, "/readyz").ends_with("store: ready\n"));
    assert!(get(&address, "/metrics").contains("nightshift_cases_total"));
    stop(demo);
}
