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
      demo          Triage sample alerts through the whole pipeline and print the reports
      run           Triage the alerts of a file or of standard input
      worker        Take alerts from the configured sources, triage them and deliver reports until
                    stopped
      cases         List and show cases, record your opinion, or triage a case again
      replay        Triage a recorded case again with its stored tool results, and show what differs
      dead-letters  List, show and read again messages that could not be read (dead letters)
      destinations  Test destinations, preview a report, drop reports to a removed destination
      feedback      Export the verdicts of people
      mutes         List, add, test and remove mutes
      playbooks     List and check playbooks, and explain which one an alert gets
      tools         List and show tools, check them and their registers, and call one
      registers     Show which rows of the registers cover the subjects of an alert
      config        Show and check the configuration, and print its schema for editors
      doctor        Check everything that the configuration names, and print each problem with its fix
      migrate       Migrate the database, and print its migrations
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
              Format of the report on standard output

              Possible values:
              - text:     Text for a terminal
              - markdown: Markdown for a ticket or a file
              - json:     One JSON object per alert, each on a line
              
              [default: text]

          --full
              Print the whole report instead of its short form; JSON is always whole

          --profile <NAME>
              Profile for the triage, instead of that of the route

          --strategy <STRATEGY>
              Strategy of the triage, instead of that of the profile

              Possible values:
              - auto:     The analyst chooses
              - planned:  A plan first, reflected on after each wave
              - adaptive: One step after the other, each decided from the results so far
              - direct:   One implicit step

          --model <PROVIDER/NAME>
              Model for every question: the name of a configured model, or openai/…, anthropic/…,
              gemini/…, bedrock/… with the key from that provider's usual environment variable

          --plan-only
              Show the plan and stop before any tool is called or anything is stored

          --quiet
              Print no progress on standard error

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Examples:
      nightshift run finding.json                      progress on stderr, report in short on stdout
      nightshift run finding.json --full               all of it: commands, evidence, plan, timeline
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
    Check everything that the configuration names, and print each problem with its fix

    Usage: nightshift doctor [OPTIONS]

    Options:
          --config <FILE>
              Configuration file [default: nightshift.toml, if there is one]

          --only <AREA,…>
              Check only these areas

              Possible values:
              - configuration: The configuration as a whole
              - tls:           Certificate authorities that this system trusts
              - clock:         The host's clock compared with the database and other servers
              - store:         The database
              - sources:       Queues of the sources
              - models:        Language models; each gets two small questions
              - tools:         Registers, lists and logs
              - destinations:  Destinations of reports; nothing is posted
              - web:           Addresses of the pages, and access to them
              - traces:        The collector of traces
              - playbooks:     Playbooks of your own

          --strict
              Treat warnings as errors

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
      <NAME>  Name that the destination had in the configuration

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
