//! Tests the permissions of the workflows and the release of a tag. The steps run here unchanged, with fake programs
//! that record their arguments.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use nightshift_tests::{Sandbox, files_below};
use regex::Regex;

use super::{folder, helm_on, least, named, succeeds, text};

const CI: &str = ".github/workflows/ci.yml";
const RELEASE: &str = ".github/workflows/release.yml";

fn jobs(workflow: &str) -> BTreeMap<String, String> {
    let workflow = text(workflow);
    let (_, jobs) = workflow.split_once("\njobs:\n").unwrap();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in jobs.lines() {
        let is_job = line.starts_with("  ") && !line.starts_with("   ") && line.ends_with(':');
        if is_job {
            line.trim().trim_end_matches(':').clone_into(&mut name);
        }
        let job = found.entry(name.clone()).or_default();
        job.push_str(line);
        job.push('\n');
    }
    found
}

#[test]
fn what_may_write_runs_actions_of_github_alone() {
    let action = Regex::new(r"\buses: ([^\s@]+)").unwrap();
    let mut may_write = Vec::new();
    for workflow in [CI, RELEASE] {
        let whole = text(workflow);
        let (head, _) = whole.split_once("\njobs:\n").unwrap();
        assert!(head.contains("\npermissions:\n  contents: read\n\n"));
        for (name, job) in jobs(workflow) {
            if !job.contains(": write\n") {
                continue;
            }
            let used: Vec<_> = action.captures_iter(&job).collect();
            assert!(!used.is_empty(), "{job}");
            for action in used {
                let of_github = action[1].starts_with("actions/");
                assert!(of_github, "{workflow}, {name}: {}", &action[1]);
            }
            may_write.push(name);
        }
    }
    assert_eq!(may_write, ["release"]);
}

#[test]
fn actions_are_named_by_the_commit_that_they_are_at() {
    let named = Regex::new("uses: (.*)").unwrap();
    let by_commit = Regex::new("^[^@ ]+@[0-9a-f]{40} # v[0-9]+[.][0-9]+[.][0-9]+$").unwrap();
    for workflow in [CI, RELEASE] {
        let whole = text(workflow);
        let others = named
            .captures_iter(&whole)
            .map(|found| found[1].to_owned())
            .filter(|action| !action.starts_with("./"));
        let others: Vec<_> = others.collect();
        assert!(!others.is_empty(), "{whole}");
        for action in others {
            assert!(by_commit.is_match(&action), "{workflow}: {action}");
        }
    }
}

/// Checks with zizmor for script injection through branch names, persisted tokens, unpinned actions and more.
#[test]
#[cfg_attr(not(has_zizmor), ignore = "tests/services installs zizmor")]
fn workflows_let_nobody_do_what_they_should_not() {
    let mut check = Command::new(named("NIGHTSHIFT_TEST_ZIZMOR"));
    succeeds(check.args(["--offline", "--min-severity=medium", CI, RELEASE]));
}

#[test]
fn tag_becomes_a_release_only_if_its_commit_passes_tests() {
    let release = jobs(RELEASE);
    assert!(release["tests"].contains(&format!("    uses: ./{CI}\n")));
    let needs = Regex::new(r"\n    needs: \[(.*)\]\n").unwrap();
    let needs = needs.captures(&release["release"]).unwrap();
    let mut needs: Vec<_> = needs[1].split(", ").collect();
    needs.sort_unstable();
    assert_eq!(needs, ["materials", "program", "tests"]);
    assert!(text(CI).contains("\n  workflow_call:\n"));
    assert!(jobs(CI)["tests"].contains("\n      - run: bash .ci/run\n"));
}

fn script(step: &str) -> String {
    let job = &jobs(RELEASE)["release"];
    let (_, step) = job.split_once(&format!("      - name: {step}")).unwrap();
    let (_, run) = step.split_once("        run: ").unwrap();
    let (run, _) = run.split_once("\n      - ").unwrap_or((run, ""));
    run.strip_prefix("|\n")
        .unwrap_or(run)
        .replace("\n          ", "\n")
}

/// Creates a folder for steps, where `gh` and `docker` record their arguments and standard input.
fn runner() -> Sandbox {
    let place = Sandbox::new().unwrap();
    for program in ["gh", "docker"] {
        let fake = "#!/bin/bash\necho \"${0##*/} $*\" >>told\n\
                    if [[ \"$*\" == *stdin* ]]; then cat >>told; fi\n";
        let file = place.write_file(&format!("bin/{program}"), fake).unwrap();
        std::fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["a.tar.gz", "a.tgz", "a.json", "SHA256SUMS"] {
        place.write_file(&format!("dist/{name}"), "x").unwrap();
    }
    place
}

/// Runs a step for a tag, as GitHub does.
fn run(place: &Sandbox, step: &str, tag: &str) {
    let bin = place.path().join("bin");
    let ran = Command::new("bash")
        .args(["-e", "-c", &script(step)])
        .current_dir(place.path())
        .env_clear()
        .env("HOME", place.path())
        .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
        .env("GITHUB_ACTOR", "somebody")
        .env("GITHUB_OUTPUT", "output")
        .env("GITHUB_REF_NAME", tag)
        .env("GITHUB_REPOSITORY", "Acme/Night-Shift")
        .env("IMAGE", "ghcr.io/acme/night-shift")
        .env("TOKEN", "only-a-test")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{step}: {ran:?}");
}

#[test]
fn a_version_with_a_dash_is_nobodys_latest_release() {
    for (tag, is_pre) in [("v1.2.3", false), ("v1.2.3-rc.1", true)] {
        let place = runner();
        run(&place, "Release", tag);
        let told = std::fs::read_to_string(place.path().join("told")).unwrap();
        let begin = format!("gh release create {tag} --verify-tag ");
        assert!(told.starts_with(&begin), "{told}");
        assert_eq!(told.contains(" --prerelease "), is_pre, "{told}");
        let files = "dist/a.tar.gz dist/a.tgz dist/a.json dist/SHA256SUMS\n";
        assert!(told.ends_with(files), "{told}");
    }
}

#[test]
#[cfg_attr(not(has_helm), ignore = "tests/services installs helm")]
fn the_chart_of_a_release_asks_for_the_image_of_that_release() {
    let version = env!("CARGO_PKG_VERSION");
    let place = runner();
    std::os::unix::fs::symlink(named("NIGHTSHIFT_TEST_HELM"), place.path().join("bin/helm"))
        .unwrap();
    for file in files_below(&folder()).unwrap() {
        let inside = file.strip_prefix(folder()).unwrap();
        let name = format!("helm/nightshift/{}", inside.display());
        place
            .write_file(&name, std::fs::read(&file).unwrap())
            .unwrap();
    }
    let tag = format!("v{version}");
    run(&place, "The image", &tag);
    let output = std::fs::read_to_string(place.path().join("output")).unwrap();
    assert_eq!(output, "name=ghcr.io/acme/night-shift\n");
    run(&place, "Chart", &tag);
    let chart = place.path().join(format!("dist/nightshift-{version}.tgz"));
    let least = least();
    let made = helm_on(&chart, &["template", "night"], &["--values", &least]);
    let made = String::from_utf8(made.stdout).unwrap();
    let image = format!("ghcr.io/acme/night-shift:{version}");
    assert!(made.contains(&format!("image: {image}\n")), "{made}");
    run(&place, "Image", &tag);
    let told = std::fs::read_to_string(place.path().join("told")).unwrap();
    let pushed = told.lines().last().unwrap();
    for what in [
        " --platform linux/amd64,linux/arm64 ",
        " --build-context built=dist ",
        " --push .",
        &format!(" --tag {image} "),
    ] {
        assert!(pushed.contains(what), "{what}: {told}");
    }
    // Other users of the machine can read the arguments of a program.
    assert!(told.contains("--password-stdin\nonly-a-test\n"), "{told}");
}
