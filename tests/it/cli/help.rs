//! Tests the help texts and the list of metrics.

use nightshift_tests::Sandbox;

fn help(arguments: &[&str]) -> String {
    let place = Sandbox::new().unwrap();
    let ran = place.run(arguments).unwrap();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

#[test]
fn the_help_of_the_program() {
    insta::assert_snapshot!(help(&["--help"]), @"
    Triages security alerts while nobody is awake: plan, evidence, verdict, report

    Usage: nightshift [OPTIONS] <COMMAND>

    Commands:
      demo          Run sample alerts through the whole pipe and print the reports
      run           Triage the alerts of a file or of standard input
      worker        Take alerts from the configured sources, triage them and deliver reports until
                    stopped
      cases         List and show cases, record your opinion, or triage a case again
      replay        Triage a recorded case again with its stored tool results, and show what differs
      dead-letters  Messages that could not be read: list them, look at one, read them again
      destinations  Try destinations: send a sample, or see what would be sent; end one that is gone
      feedback      Export people's opinions of verdicts
      mutes         List, add, try and remove mutes
      playbooks     List playbooks, check your own, explain which one an alert gets
      tools         List tools, check their registers, call one
      registers     Say which row of the registers covers what an alert is about
      config        Show and check the configuration, describe it for editors
      doctor        Probe everything that the configuration names, and say what is wrong and how to fix
                    it
      migrate       Bring the database up to date, and say which migrations it has
      help          Print this message or the help of the given subcommand(s)

    Options:
          --config <FILE>  Configuration file [default: nightshift.toml, if there is one]
      -h, --help           Print help
      -V, --version        Print version

    Examples:
      nightshift demo --once           sample alerts through the whole pipe; no key, no server
      nightshift run finding.json      triage one alert, watch the plan, read the report
      nightshift worker                take alerts from SQS, RabbitMQ or a directory until it is stopped
      nightshift cases list            what came, and what it was

    Without a configuration everything is kept in ./nightshift-data/ and no model is used.
    Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 64 bad configuration.
    ");
}

#[test]
fn the_help_of_run() {
    insta::assert_snapshot!(help(&["run", "--help"]), @"
    Triage the alerts of a file or of standard input

    Usage: nightshift run [OPTIONS] <FILE|->

    Arguments:
      <FILE|->
              A message as a feed delivers it, or `-` for standard input

    Options:
          --config <FILE>
              Configuration file [default: nightshift.toml, if there is one]

          --format <FORMAT>
              How the report is written to standard output

              Possible values:
              - text:     For a terminal
              - markdown: For a ticket or a file
              - json:     One object per alert and line
              
              [default: text]

          --profile <NAME>
              Profile to triage with, instead of the one its route names

          --strategy <STRATEGY>
              How the case is worked on, instead of what its profile says

              Possible values:
              - auto:     The analyst chooses
              - planned:  A plan first, reflected on after each wave
              - adaptive: One step after the other, each decided on from the results so far
              - direct:   One implicit step

          --model <PROVIDER/NAME>
              Model for every question: one of the configuration by name, or openai/…, anthropic/…,
              gemini/…, bedrock/… with the key from that provider's usual environment variable

          --plan-only
              Show the plan and stop before anything is run or kept

          --quiet
              No progress on standard error

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      nightshift run finding.json                      progress on stderr, report on stdout
      aws guardduty get-findings … | nightshift run -  straight from the API
      nightshift run finding.json --plan-only          show the plan, run nothing
      ANTHROPIC_API_KEY=… nightshift run finding.json --model anthropic/claude-sonnet-4-6
      nightshift run finding.json --format json --quiet | jq .verdict

    A finding that was triaged before is triaged again, as a new revision of its case; one whose triage
    was interrupted goes on where it was.
    ");
}

#[test]
fn the_help_of_doctor() {
    insta::assert_snapshot!(help(&["doctor", "--help"]), @r#"
    Probe everything that the configuration names, and say what is wrong and how to fix it

    Usage: nightshift doctor [OPTIONS]

    Options:
          --config <FILE>
              Configuration file [default: nightshift.toml, if there is one]

          --only <AREA,…>
              Look at these areas only

              Possible values:
              - configuration: What the configuration says, taken together
              - tls:           Whether this system knows authorities to check certificates with
              - clock:         The host's clock compared with the database and other servers
              - store:         The database
              - sources:       Queues that alerts come from
              - models:        Language models, each asked two small questions
              - tools:         Registers, lists and logs
              - destinations:  Where reports go; nothing is posted
              - web:           Addresses of the pages, and who could read them
              - traces:        The collector of traces
              - playbooks:     Playbooks of your own

          --strict
              Warnings count as errors

          --json
              Print JSON

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      nightshift doctor                            before a start, after a change
      nightshift doctor --only store,sources       these alone
      nightshift doctor --json | jq '.findings[] | select(.severity == "error")'

    Nothing is stored, taken from a queue or posted. Each [[model]] is asked two questions of a few
    dozen tokens.

    What each finding means: docs/doctor.md.
    Exit codes: 0 no errors, 1 errors, 64 the file cannot be read.
    "#);
}

#[test]
fn the_help_of_destinations_drop() {
    insta::assert_snapshot!(help(&["destinations", "drop", "--help"]), @"
    Give up pending reports to a destination that is no longer configured

    Usage: nightshift destinations drop [OPTIONS] <NAME>

    Arguments:
      <NAME>  Its name, as the configuration had it

    Options:
          --config <FILE>  Configuration file [default: nightshift.toml, if there is one]
          --json           Print JSON
      -h, --help           Print help
      -V, --version        Print version

    Example:
      nightshift destinations drop old-soc

    For one that was removed or renamed: nobody delivers what it is owed, and NightshiftOutboxStuck
    pages until that is given up. What the `otherwise` of a route takes over goes there; the cases stay
    in `nightshift cases list` and on the pages. A destination that is configured is left alone, and so
    is one that a worker of an earlier configuration still serves.
    ");
}

#[test]
fn the_list_of_metrics() {
    let place = Sandbox::new().unwrap();
    place
        .write_file(
            "nightshift.toml",
            "[metrics]\ntextfile = \"metrics.prom\"\n",
        )
        .unwrap();
    place
        .run_with_input(
            &["run", "-", "--quiet"],
            include_bytes!("../../fixtures/alerts/guardduty-finding.json"),
        )
        .unwrap();
    let text = std::fs::read_to_string(place.path().join("metrics.prom")).unwrap();
    let types: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    insta::assert_snapshot!(types.join("\n"), @"
    nightshift_alerts_total counter
    nightshift_budget_day_usd gauge
    nightshift_budget_exhausted_total counter
    nightshift_case_duration_seconds histogram
    nightshift_case_model_calls histogram
    nightshift_case_steps histogram
    nightshift_cases_resumed_total counter
    nightshift_cases_running gauge
    nightshift_cases_total counter
    nightshift_configuration_refused gauge
    nightshift_dead_letters gauge
    nightshift_evidence_claims_total counter
    nightshift_feedback_total counter
    nightshift_inbox_depth gauge
    nightshift_inbox_oldest_seconds gauge
    nightshift_inbox_urgent_oldest_seconds gauge
    nightshift_last_success_timestamp_seconds gauge
    nightshift_lease_lost_total counter
    nightshift_manipulation_suspected_total counter
    nightshift_outbox_depth gauge
    nightshift_outbox_oldest_seconds gauge
    nightshift_plan_updates_total counter
    nightshift_rechecks_total counter
    nightshift_reflections_total counter
    nightshift_slack_refused_total counter
    nightshift_steps_total counter
    nightshift_store_disk_full gauge
    nightshift_tool_calls_total counter
    nightshift_tool_duration_seconds histogram
    nightshift_verdicts_overridden_total counter
    ");
}
