//! Tests the check of a playbook, with line and column.

use serde_json::Value;

use super::alerts::scc_miner;
use super::case_fixture::{ALL, spec};
use crate::playbook::catalogue::FILES;
use crate::playbook::check_playbook;
use crate::playbook::facts::blank_alert;

/// Checks a playbook with a valid head in lines 1 to 8 and this rest.
fn problems(rest: &str) -> String {
    let head = "name = \"p\"\nversion = 1\ntitle = \"t\"\nmeaning = \"m\"\nobjective = \"o\"\n[match]\ntypes = [\"A:*\"]\n\n";
    let tools: Vec<_> = ALL.iter().map(|kind| spec(kind)).collect();
    let lines: Vec<_> = check_playbook("p.toml", &format!("{head}{rest}"), &tools, &["edr"])
        .iter()
        .map(ToString::to_string)
        .collect();
    lines.join("\n")
}

const END: &str = "[otherwise]\nwould_decide = [\"x\"]\n";

#[test]
fn syntax_and_unknown_fields() {
    insta::assert_snapshot!(problems("[[step]]\nid = \n"), @"p.toml:10:6: error: string values must be quoted, expected literal string");
    insta::assert_snapshot!(problems("[[step]]\nid = \"a\"\ndescripton = \"d\"\n"), @"p.toml:11:1: error: unknown field `descripton`, expected one of `id`, `description`, `expected`, `depends_on`, `key`, `when`, `because`, `call`, `met`, `summary`; did you mean `description`?");
    insta::assert_snapshot!(problems("[[verdict]]\nverdict = \"true_positiv\"\n"), @"p.toml:10:11: error: unknown variant `true_positiv`, expected one of `true_positive`, `benign_true_positive`, `false_positive`, `inconclusive`; did you mean `true_positive`?");
    insta::assert_snapshot!(problems("[[step]]\nid = \"a\"\ndescription = \"d\"\n[[step.call]]\ntool = \"watchlist\"\nforeach = \"x\"\n"), @"p.toml:14:1: error: unknown field `foreach`, expected one of `tool`, `when`, `for_each`, `arguments`; did you mean `for_each`?");
}

#[test]
fn tools_and_their_arguments() {
    let call = |text: &str| {
        problems(&format!(
            "[[step]]\nid = \"a\"\ndescription = \"d\"\n[[step.call]]\n{text}\n{END}"
        ))
    };
    insta::assert_snapshot!(call("tool = \"watchlst\""), @"p.toml:13:8: error: unknown tool `watchlst`; did you mean `watchlist`?");
    insta::assert_snapshot!(call("tool = \"watchlist\"\narguments = { indikator = \"x\" }"), @r#"
    p.toml:13:8: error: watchlist needs the argument `indicator`
    p.toml:14:27: error: unknown argument of watchlist `indikator`; did you mean `indicator`?
    "#);
    insta::assert_snapshot!(call("tool = \"log_search.cloudtrail\"\narguments = { ip = \"{{ item.value }}\" }"), @"p.toml:14:24: error: `item` is available only with `for_each`");
}

#[test]
fn expressions_and_templates() {
    let finding = |text: &str| {
        problems(&format!(
            "[[finding]]\nid = \"a\"\ncite = [\"E0:/title\"]\n{text}\n{END}"
        ))
    };
    insta::assert_snapshot!(finding("claim = \"c\"\nwhen = \"alert.count >\""), @"p.toml:13:21: error: not an expression: unexpected end of input, expected expression");
    insta::assert_snapshot!(finding("claim = \"c {{ alrt.title }}\""), @"p.toml:12:15: error: unknown name `alrt`; did you mean `alert`?");
    insta::assert_snapshot!(finding("claim = \"c {{ alert.title | shortt }}\""), @"p.toml:12:29: error: unknown filter `shortt`");
    insta::assert_snapshot!(finding("claim = \"c\"\nwhen = \"alert.count is evenn\""), @"p.toml:13:24: error: unknown test `evenn`");
    insta::assert_snapshot!(finding("claim = \"c {{ alert.title \""), @"p.toml:12:21: error: not an expression: unexpected end of input, expected end of variable block");
    insta::assert_snapshot!(finding("claim = \"c\"\nwhen = \"\"\"\ntrue\n  and answered('lists')\"\"\""), @"p.toml:15:17: error: unknown step `lists`");
    insta::assert_snapshot!(finding("claim = \"c\"\nfor_each = \"alert.count == 1\""), @"p.toml:13:13: error: expected a list, found a bool");
    insta::assert_snapshot!(finding("claim = \"c\"\nfor_each = \"alert.title\""), @"p.toml:13:13: error: expected a list, found a string");
}

#[test]
fn names_of_steps_findings_and_actions() {
    insta::assert_snapshot!(problems(&format!("[[step]]\nid = \"lists\"\ndescription = \"d\"\ndepends_on = [\"list\"]\n{END}")), @"p.toml:12:15: error: unknown step `list`; did you mean `lists`?");
    insta::assert_snapshot!(problems(&format!("[[step]]\nid = \"Lists\"\ndescription = \"d\"\n[[step]]\nid = \"Lists\"\ndescription = \"d\"\n{END}")), @"
    p.toml:10:6: error: the id of a step may contain only lower-case letters, digits and `_`
    p.toml:13:6: error: the id of a step may contain only lower-case letters, digits and `_`
    p.toml:13:6: error: duplicate step `Lists`
    ");
    insta::assert_snapshot!(problems(&format!("[[step]]\nid = \"lists\"\ndescription = \"d\"\nmet = \"results.list and rows('lsts') > 0\"\n{END}")), @r#"
    p.toml:12:16: error: unknown step `list`; did you mean `lists`?
    p.toml:12:31: error: unknown step `lsts`; did you mean `lists`?
    "#);
    insta::assert_snapshot!(problems(&format!("[[finding]]\nid = \"bad\"\nclaim = \"c\"\ncite = [\"E0:/x\"]\n[[verdict]]\nwhen = \"finding('bd')\"\nverdict = \"true_positive\"\nactions = [\"stop-instanc\"]\ntechniques = [\"Mining\"]\n{END}")), @r#"
    p.toml:14:18: error: unknown finding `bd`; did you mean `bad`?
    p.toml:16:12: error: unknown action `stop-instanc`; did you mean `stop-instance`?
    p.toml:17:15: error: a technique is written like `T1496 Resource Hijacking`
    "#);
}

#[test]
fn fields_of_the_alert() {
    let step = |text: &str| problems(&format!("[[step]]\nid = \"a\"\n{text}\n{END}"));
    insta::assert_snapshot!(step("description = \"d {{ alert.regions }}\""), @"p.toml:11:27: error: unknown field of alert `regions`; did you mean `region`?");
    insta::assert_snapshot!(step("description = \"d\"\nmet = \"alert['titel'] == 'x' or alert.times.first\""), @r#"
    p.toml:12:15: error: unknown field of alert `titel`; did you mean `title`?
    p.toml:12:45: error: unknown field of alert.times `first`
    "#);
    insta::assert_snapshot!(step("description = \"{{ alert.titel | default('d') }}\"\nmet = \"alert.accnt is defined\""), @r#"
    p.toml:11:25: warning: unknown field of alert `titel`; did you mean `title`?
    p.toml:12:14: warning: unknown field of alert `accnt`; did you mean `account`?
    "#);
    let known = "alert.raw.any.thing and alert.resources[0].any and alert.region.any and results.a.alert.any";
    assert_eq!(step(&format!("description = \"d\"\nmet = \"{known}\"")), "");
    let (blank, real) = (blank_alert(), scc_miner().to_json_without_raw());
    let fields = |alert: &Value, place: &str| -> Vec<String> {
        let fields = alert.pointer(place).and_then(Value::as_object).unwrap();
        // Fields that are left out when they are empty.
        let optional = [
            "addresses",
            "principals",
            "callers",
            "direction",
            "unreadable",
            "unseen",
        ];
        let is_optional = |name: &&String| optional.contains(&name.as_str());
        let always = fields.keys().filter(|name| !is_optional(name));
        always.cloned().collect()
    };
    for place in ["", "/key", "/times", "/state"] {
        assert_eq!(fields(&blank, place), fields(&real, place), "{place}");
    }
}

#[test]
fn actions_of_its_own() {
    let action = |text: &str| problems(&format!("{END}[[action]]\nid = \"stop\"\n{text}"));
    insta::assert_snapshot!(action("text = \"Stop {instanc} of {account}\"\ncommand = \"x --filter {{name}} --ip {ip\"\n"), @r#"
    p.toml:13:14: error: unknown placeholder `instanc`; did you mean `instance`?
    p.toml:14:37: error: unmatched brace; write a literal brace twice
    "#);
    insta::assert_snapshot!(action("text = \"a\"\n[[action]]\nid = \"stop\"\nprovider = \"aws\"\ntext = \"b\"\n"), @"p.toml:14:1: error: never advised: an earlier action has the same id `stop` for this cloud");
    let by_cloud = "provider = \"aws\"\ntext = \"a\"\n[[action]]\nid = \"stop\"\nprovider = \"gcp\"\ntext = \"b\"\n[[action]]\nid = \"stop\"\ntext = \"c\"\n";
    assert_eq!(action(by_cloud), "");
    for (file, text) in FILES {
        assert_eq!(problems(&format!("{END}{text}")), "", "{file}");
    }
}

#[test]
fn feeds_and_classes_that_nobody_knows() {
    insta::assert_snapshot!(problems(&format!("feeds = [\"guardduti\", \"GuardDuty\", \"edr\", \"nightshift\", \"canary\"]\nclass = [\"threat\", \"THREAD\"]\n{END}")), @r#"
    p.toml:9:10: warning: unknown feed `guardduti`; did you mean `guardduty`?
    p.toml:10:20: warning: unknown finding class `THREAD`; did you mean `THREAT`?
    "#);
}

#[test]
fn named_expressions() {
    insta::assert_snapshot!(problems(&format!("[let]\na = \"b\"\nb = \"indicators() and cleared\"\n{END}")), @"
    p.toml:10:6: error: `b` is defined later in [let]; use only names above
    p.toml:11:23: error: `cleared` is not available in [let]; use it in the rule
    ");
    insta::assert_snapshot!(problems(&format!("[let]\nsubject = \"'x'\"\nearlier = \"1\"\n_facts = \"1\"\n{END}")), @"
    p.toml:10:11: error: `subject` is a built-in name; choose another name
    p.toml:11:11: error: `earlier` is a built-in name; choose another name
    p.toml:12:10: error: `_facts` is a built-in name; choose another name
    ");
    let many: String = (0..130).map(|n| format!("a{n} = \"1\"\n")).collect();
    insta::assert_snapshot!(problems(&format!("[let]\n{many}{END}")), @r#"
    p.toml:138:8: error: [let] has at most 128 names
    "#);
}

#[test]
fn rules_that_never_hold_or_are_missing() {
    insta::assert_snapshot!(problems(&format!("[[verdict]]\nwhen = \"true\"\nverdict = \"inconclusive\"\n[[verdict]]\nwhen = \"alert.count > 1\"\nverdict = \"true_positive\"\n{END}")), @r#"
    p.toml:12:1: error: never reached: rule 1 always holds
    p.toml:15:1: error: never reached: verdict rule 1 always holds
    "#);
    insta::assert_snapshot!(problems("[[verdict]]\nwhen = \"alert.count > 1\"\nverdict = \"false_positive\"\n"), @r#"
    p.toml:1:1: error: [otherwise] is missing; add one for alerts that no rule matches
    p.toml:10:8: error: a benign verdict requires `cleared` in `when`
    "#);
    insta::assert_snapshot!(problems("[otherwise]\nverdict = \"true_positive\"\n"), @r#"
    p.toml:9:1: error: [otherwise] cannot have a verdict other than inconclusive
    p.toml:9:1: warning: `would_decide` of [otherwise] is empty; name the record or log that would decide
    "#);
    insta::assert_snapshot!(problems(&format!("[[finding]]\nid = \"a\"\nclaim = \"c\"\ncite = []\n{END}")), @"p.toml:10:6: error: a finding without `cite` is never made");
    insta::assert_snapshot!(problems(&format!("[[benign_when]]\nwhen = \"true\"\nsubject = \"x\"\nsubject_type = \"ip\"\nref = \"r\"\nstatement = \"s\"\ncovers = [\"A:[\"]\n{END}")), @r#"
    p.toml:10:8: error: this rule has no approver; set `approved_by`, or `owner` of the playbook
    p.toml:15:11: error: not a glob: unclosed character class; missing ']'
    "#);
    let benign = "[[benign_when]]\nwhen = \"true\"\nsubject = \"x\"\nsubject_type = \"ip\"\nref = \"r\"\nstatement = \"s\"\ncovers = [\"A:*\"]\napproved_by = \"me\"\n";
    let titled = format!(
        "name = \"p\"\nversion = 1\ntitle = \"t\"\nmeaning = \"m\"\nobjective = \"o\"\n[match]\ntitles = [\"*travel*\"]\n{benign}{END}"
    );
    let problems = check_playbook("p.toml", &titled, &[], &[]);
    insta::assert_snapshot!(problems[0], @"p.toml:9:8: error: a title or a command cannot clear an alert because an attacker may have written it; set `types` in [match]");
}
