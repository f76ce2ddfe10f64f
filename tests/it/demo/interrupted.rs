//! Tests that a killed demo continues at the next start and neither loses an alert nor triages one twice.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use super::{cases, check_cases, nightshift, printed, tempdir, word};

/// Pseudo-random numbers, the same in every run (a linear congruential generator with Knuth's constants).
struct SeededRandom(u64);

impl SeededRandom {
    /// Returns the next number below `below`.
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Starts the demo, kills it after this many lines, and returns its output until then.
fn killed_after(folder: &Path, lines: u64) -> String {
    let mut demo = nightshift(folder)
        .args(["demo", "--once"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(demo.stderr.take().unwrap()).lines();
    // When the output ends early, the demo has ended and there is nothing to kill.
    for _ in 0..lines {
        let Some(line) = said.next() else { break };
        line.unwrap();
    }
    demo.kill().unwrap();
    let output = demo.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Kills a demo at each of these points in turn and lets the last start end.
fn survives(points: &[u64]) {
    let folder = tempdir().unwrap();
    let mut seen = String::new();
    for lines in points {
        seen.push_str(&killed_after(folder.path(), *lines));
    }
    seen.push_str(&printed(folder.path(), &["demo", "--once", "--quiet"]));
    check_cases(folder.path());
    for (key, case) in cases(folder.path()) {
        let heading = format!("case {} revision 1", word(&case, "id"));
        assert!(
            seen.contains(&heading),
            "no report of {key} after {points:?}"
        );
    }
}

#[test]
fn a_demo_killed_at_once_or_at_its_first_line_goes_on() {
    survives(&[0, 1]);
}

#[test]
fn a_demo_killed_anywhere_goes_on() {
    let mut numbers = SeededRandom(2026);
    for _ in 0..2 {
        survives(&[1 + numbers.next(60), 1 + numbers.next(160)]);
    }
}

#[test]
fn a_demo_killed_while_it_concludes_goes_on() {
    let mut numbers = SeededRandom(302);
    survives(&[150 + numbers.next(150), 20 + numbers.next(80)]);
}
