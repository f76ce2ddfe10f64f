//! Informs the tests at compile time which programs and services of `tests/services` are installed. Tests that need a
//! missing one are ignored, so that they count as skipped and not as passed.

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn main() {
    for (variables, name) in [
        (&["NIGHTSHIFT_TEST_SDK_PYTHON"][..], "has_sdks"),
        (&["NIGHTSHIFT_TEST_SLACK_TYPES"], "has_slack_types"),
        (
            &["NIGHTSHIFT_TEST_HELM", "NIGHTSHIFT_TEST_HELM_PYTHON"],
            "has_helm",
        ),
        (
            &["NIGHTSHIFT_TEST_CHROMIUM", "NIGHTSHIFT_TEST_PAGES"],
            "has_browser",
        ),
        (
            &["NIGHTSHIFT_TEST_POSTGRES", "NIGHTSHIFT_TEST_RABBITMQ"],
            "has_services",
        ),
        (&["NIGHTSHIFT_TEST_PGBOUNCER"], "has_pooler"),
        (
            &["NIGHTSHIFT_TEST_PROMETHEUS", "NIGHTSHIFT_TEST_PROMTOOL"],
            "has_prometheus",
        ),
        (&["NIGHTSHIFT_TEST_GRAFANA_PYTHON"], "has_grafana"),
        (&["NIGHTSHIFT_TEST_CFN_LINT"], "has_cfn_lint"),
        (&["NIGHTSHIFT_TEST_ZIZMOR"], "has_zizmor"),
        (&["NIGHTSHIFT_TEST_CHECK_JSONSCHEMA"], "has_schemas"),
        (&["NIGHTSHIFT_TEST_HCL"], "has_hcl"),
        (&["NIGHTSHIFT_TEST_LLAMA_PYTHON"], "has_llama"),
        (&["NIGHTSHIFT_TEST_LITELLM"], "has_litellm"),
    ] {
        println!("cargo::rustc-check-cfg=cfg({name})");
        for variable in variables {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let is_set = |variable: &&str| std::env::var_os(variable).is_some_and(|it| !it.is_empty());
        if variables.iter().all(is_set) {
            println!("cargo::rustc-cfg={name}");
        }
    }
}
