//! Reads the standard `OTEL_*` variables that `[traces]` has a key for
//! (<https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>). Their precedence is between
//! the defaults and the configuration: a file or a `NIGHTSHIFT__TRACES__…` variable overrides them. They never keep the
//! program from starting: an operator of Kubernetes injects them. The libraries of OpenTelemetry read others
//! themselves: headers, timeout, `OTEL_BSP_*`, resource attributes, span limits.

use toml::{Table, Value};

use super::TracesConfig;

/// The settings that the variables hold.
#[derive(Debug)]
pub(super) struct OtelVariables(Vec<Setting>);

/// One key of `[traces]` and the variable that sets it, with its value or its fault.
#[derive(Debug)]
struct Setting {
    key: &'static str,
    variable: &'static str,
    value: Result<Value, String>,
}

/// The result of reading the variables.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct OtelUse {
    /// The names of those that count.
    pub(super) names: Vec<String>,
    /// True if only the variables name the collector. The program must start with any content of the variables, because
    /// they may be injected.
    pub(crate) names_collector: bool,
    /// The variables that cannot be used, and how to fix them.
    pub(crate) problem: Option<String>,
}

impl OtelVariables {
    /// Reads the variables through `variable`, which returns `None` for those that are not set.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&'static str]| {
            let mut set = names
                .iter()
                .filter_map(|name| Some((*name, variable(name)?)));
            set.next()
        };
        let mut settings = Vec::new();
        let mut set = |key, variable, value| {
            settings.push(Setting {
                key,
                variable,
                value,
            });
        };
        let is_off = first(&["OTEL_SDK_DISABLED"])
            .is_some_and(|(_, value)| value.trim().eq_ignore_ascii_case("true"))
            || first(&["OTEL_TRACES_EXPORTER"]).is_some_and(|(_, value)| value.trim() != "otlp");
        let own = first(&["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]);
        let endpoint = own.or_else(|| {
            let (name, base) = first(&["OTEL_EXPORTER_OTLP_ENDPOINT"])?;
            let base = base.trim().trim_end_matches('/');
            Some((name, format!("{base}/v1/traces")))
        });
        if let Some((name, endpoint)) = endpoint.filter(|_| !is_off) {
            let protocol = first(&[
                "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
                "OTEL_EXPORTER_OTLP_PROTOCOL",
            ]);
            let other = protocol.filter(|(_, protocol)| protocol.trim() != "http/protobuf");
            let value = other.map_or(Ok(endpoint.into()), |(name, protocol)| {
                Err(format!(
                    "{name} = {protocol:?} is not supported: set it to http/protobuf, with an endpoint that takes OTLP over \
                     HTTP (mostly port 4318), or set OTEL_TRACES_EXPORTER=none"
                ))
            });
            set("endpoint", name, value);
            let certificate = first(&[
                "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
                "OTEL_EXPORTER_OTLP_CERTIFICATE",
            ]);
            if let Some((name, path)) = certificate {
                set("ca_file", name, Ok(path.into()));
            }
        }
        let named = first(&["OTEL_RESOURCE_ATTRIBUTES"])
            .and_then(|(name, attributes)| Some((name, service_name(&attributes)?)));
        if let Some((name, service)) = first(&["OTEL_SERVICE_NAME"]).or(named) {
            set("service_name", name, Ok(service.into()));
        }
        if let Some((name, sampler)) = first(&["OTEL_TRACES_SAMPLER"]) {
            let argument = variable("OTEL_TRACES_SAMPLER_ARG");
            let ratio = ratio(&sampler, argument.as_deref());
            set("sample_ratio", name, ratio.map(Value::from));
        }
        Self(settings)
    }

    /// Takes the defaults of these keys out of the table, so that only the configuration sets them.
    pub(super) fn remove_defaults(&self, table: &mut Table) {
        if let Some(Value::Table(traces)) = table.get_mut("traces") {
            self.0.iter().for_each(|one| drop(traces.remove(one.key)));
        }
    }

    /// Sets the keys that the configuration leaves out: to the variables, or to the defaults where those cannot be used.
    pub(super) fn fill(self, table: &mut Table, defaults: &Table) -> OtelUse {
        let mut used = OtelUse::default();
        let (Some(Value::Table(traces)), Some(Value::Table(defaults))) =
            (table.get_mut("traces"), defaults.get("traces"))
        else {
            return used;
        };
        let mut open = self.0;
        open.retain(|one| !traces.contains_key(one.key));
        let mut variables = open.iter().filter(|one| one.key == "endpoint");
        let named_by = variables.next().map(|one| one.variable);
        used.names_collector = named_by.is_some();
        let mut problems = Vec::new();
        for one in open {
            match one.value {
                Ok(value) => {
                    traces.insert(one.key.to_owned(), value);
                    used.names.push(one.variable.to_owned());
                }
                Err(problem) => problems.push(problem),
            }
        }
        for (key, value) in defaults {
            traces.entry(key).or_insert_with(|| value.clone());
        }
        if let Some(name) = named_by {
            // The operator who sets the variable decides whether the network there is private.
            traces.insert("allow_private".to_owned(), true.into());
            let read = Value::Table(traces.clone()).try_into::<TracesConfig>();
            let wrong = read.ok().and_then(|traces| traces.check().err());
            problems
                .extend(wrong.map(|problem| {
                    format!("{problem}; correct {name}, or write [traces] instead")
                }));
            if !problems.is_empty() {
                traces.insert("endpoint".to_owned(), "".into());
                used.names.clear();
            }
        } else if traces.get("endpoint").and_then(Value::as_str) == Some("") {
            // There is no collector, so nothing depends on the variables.
            problems.clear();
        }
        used.problem = (!problems.is_empty()).then(|| problems.join("; "));
        used
    }
}

/// Returns the service that resource attributes name.
fn service_name(attributes: &str) -> Option<String> {
    let mut pairs = attributes
        .split(',')
        .filter_map(|pair| pair.split_once('='));
    let (_, name) = pairs.find(|(key, _)| key.trim() == "service.name")?;
    Some(name.trim().to_owned())
}

/// Returns the ratio of a sampler. The flags of senders do not count, even if the sampler is based on parents.
fn ratio(sampler: &str, argument: Option<&str>) -> Result<f64, String> {
    match (sampler.trim().trim_start_matches("parentbased_"), argument) {
        ("always_on", _) | ("traceidratio", None) => Ok(1.0),
        ("always_off", _) => Ok(0.0),
        ("traceidratio", Some(argument)) => {
            let ratio = argument.trim().parse().ok();
            let ratio = ratio.filter(|ratio| (0.0..=1.0).contains(ratio));
            ratio.ok_or_else(|| {
                format!("OTEL_TRACES_SAMPLER_ARG = {argument:?}: set it to a number from 0 to 1")
            })
        }
        _ => Err(format!(
            "OTEL_TRACES_SAMPLER = {sampler:?} is not supported: set it to always_on, always_off or traceidratio"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> OtelVariables {
        OtelVariables::read(|wanted| {
            let mut all = variables.iter();
            all.find(|(name, _)| *name == wanted)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    /// Returns the keys of `[traces]` that these variables set beside what the configuration `own` holds, and their use.
    fn keys(own: &str, variables: &[(&str, &str)]) -> (String, OtelUse) {
        let defaults: Table =
            "[traces]\nendpoint = \"\"\nservice_name = \"nightshift\"\nsample_ratio = 1.0\n"
                .parse()
                .unwrap();
        let (mut table, read) = (defaults.clone(), read(variables));
        read.remove_defaults(&mut table);
        let own: Table = own.parse().unwrap();
        table["traces"].as_table_mut().unwrap().extend(own);
        let used = read.fill(&mut table, &defaults);
        (table["traces"].to_string(), used)
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4318/");

    #[test]
    fn standard_variables_set_the_keys_of_traces() {
        let set = |variables: &[_]| keys("", variables).0;
        let service = ("OTEL_SERVICE_NAME", "soc");
        insta::assert_snapshot!(set(&[ENDPOINT, service]), @r#"{ allow_private = true, endpoint = "http://otel:4318/v1/traces", sample_ratio = 1.0, service_name = "soc" }"#);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://b/x");
        insta::assert_snapshot!(set(&[ENDPOINT, own, ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem")]), @r#"{ allow_private = true, ca_file = "/ca.pem", endpoint = "https://b/x", sample_ratio = 1.0, service_name = "nightshift" }"#);
        let ratio = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
        insta::assert_snapshot!(set(&[("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"), ratio]), @r#"{ endpoint = "", sample_ratio = 0.25, service_name = "nightshift" }"#);
        insta::assert_snapshot!(set(&[("OTEL_RESOURCE_ATTRIBUTES", "a=b,service.name=soc")]), @r#"{ endpoint = "", sample_ratio = 1.0, service_name = "soc" }"#);
    }

    #[test]
    fn variables_that_turn_traces_off_name_no_collector() {
        for off in [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            let (table, used) = keys("", &[off, ENDPOINT]);
            assert!(table.contains("endpoint = \"\""), "{table}");
            assert_eq!(used, OtelUse::default());
        }
    }

    #[test]
    fn variables_that_cannot_be_used_are_a_problem_and_no_traces() {
        let problem = |variables: &[_]| {
            let (table, used) = keys("", &[&[ENDPOINT], variables].concat());
            assert!(table.contains("endpoint = \"\""), "{table}");
            used.problem.unwrap()
        };
        insta::assert_snapshot!(problem(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), @r#"OTEL_EXPORTER_OTLP_PROTOCOL = "grpc" is not supported: set it to http/protobuf, with an endpoint that takes OTLP over HTTP (mostly port 4318), or set OTEL_TRACES_EXPORTER=none"#);
        insta::assert_snapshot!(problem(&[("OTEL_TRACES_SAMPLER", "xray")]), @r#"OTEL_TRACES_SAMPLER = "xray" is not supported: set it to always_on, always_off or traceidratio"#);
        insta::assert_snapshot!(problem(&[("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "many")]), @r#"OTEL_TRACES_SAMPLER_ARG = "many": set it to a number from 0 to 1"#);
        insta::assert_snapshot!(problem(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "otel:4317")]), @"[traces] endpoint: write https://HOST:4318/v1/traces; correct OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or write [traces] instead");
        insta::assert_snapshot!(problem(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://me:s3cret@otel/x")]), @"[traces] endpoint: holds a user or password: write it into `headers`; correct OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, or write [traces] instead");
    }

    #[test]
    fn configuration_overrides_variables_and_stays_strict() {
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        for own in [
            "endpoint = \"\"",
            "endpoint = \"http://otel:4318/v1/traces\"",
        ] {
            let (table, used) = keys(own, &[ENDPOINT, grpc]);
            assert!(
                table.contains(own) && !table.contains("allow_private"),
                "{table}"
            );
            assert_eq!(used, OtelUse::default());
        }
    }
}
