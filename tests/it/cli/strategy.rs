//! Tests that the same alerts get the same verdicts under each strategy.

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

#[test]
fn r4_every_strategy_comes_to_the_same_verdict() {
    let demo = repository_root().join("deploy/demo");
    let config = demo.join("nightshift.toml").display().to_string();
    for (alert, verdict) in [
        ("01-crypto-miner.pubsub.json", "true_positive"),
        ("02-stolen-credentials.eventbridge.json", "true_positive"),
        ("03-port-scan.eventbridge.json", "benign_true_positive"),
        (
            "04-batch-behind-our-egress.securityhub.json",
            "false_positive",
        ),
        ("07-injected-user-agent.eventbridge.json", "inconclusive"),
    ] {
        let alert = demo.join("alerts").join(alert).display().to_string();
        for strategy in ["planned", "adaptive", "direct"] {
            let place = Sandbox::new().unwrap();
            let ran = place
                .run(&[
                    "--config",
                    &config,
                    "run",
                    &alert,
                    "--strategy",
                    strategy,
                    "--format",
                    "json",
                    "--quiet",
                ])
                .unwrap();
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let report: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(
                report["verdict"], verdict,
                "{alert} {strategy}: {}",
                report["summary"]
            );
            let steps = report["steps"].as_array().unwrap().len();
            assert_eq!(
                steps == 1,
                strategy == "direct",
                "{alert} {strategy}: {steps} steps"
            );
        }
    }
}
