//! Maps the protocols' names for the attributes of a CloudEvent in binary mode to one name.
//!
//! AMQP prefixes them with `cloudEvents:` or, where a colon is not allowed, `cloudEvents_` (CloudEvents AMQP binding
//! 1.0.2, §3.1). SQS has no binding, so producers there use one of these or the HTTP binding's `ce-`.

/// Returns the name with which alerts are read: `ce-type` for `cloudEvents:type`. Other names are not changed.
pub(crate) fn canonical_name(sent: &str) -> String {
    for prefix in ["cloudEvents:", "cloudEvents_", "ce-", "ce_"] {
        let head = sent.get(..prefix.len());
        if head.is_some_and(|head| head.eq_ignore_ascii_case(prefix)) {
            let rest = sent.get(prefix.len()..).unwrap_or_default();
            return format!("ce-{}", rest.to_ascii_lowercase());
        }
    }
    sent.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_cloud_event_has_one_name() {
        for sent in [
            "cloudEvents:specversion",
            "cloudEvents_specversion",
            "CLOUDEVENTS:specVersion",
            "ce-specversion",
            "ce_specversion",
        ] {
            assert_eq!(canonical_name(sent), "ce-specversion");
        }
        for other in ["x-death", "cé", "", "cloudEvents", "centre"] {
            assert_eq!(canonical_name(other), other);
        }
    }
}
