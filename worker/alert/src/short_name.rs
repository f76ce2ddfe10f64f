//! Finds the name within an id: an ARN, a resource path, a URI, an image, a host with its port.

/// Qualifiers that follow the name in an ARN and mean any version.
const QUALIFIERS: [&str; 2] = [":*", ":$LATEST"];
/// An ARN type whose names contain slashes: `log-group:/aws/lambda/pay`.
const LOG_GROUP: &str = "log-group:";
/// ARN types whose names may be followed by a colon and a version.
const VERSIONED: [&str; 2] = ["function:", "layer:"];

/// Returns the part of an id that names the resource.
///
/// `arn:aws:lambda:eu-west-1:111122223333:function:pay:$LATEST` is `pay`, `…:task-definition/pay:17` is `pay:17`,
/// `registry.example.com/shop:1` is `shop:1`, and `web-1:9100` is `web-1`.
#[must_use]
pub fn short_name(id: &str) -> &str {
    let whole = id.trim_end_matches(['/', ':']);
    let whole = QUALIFIERS
        .iter()
        .find_map(|end| whole.strip_suffix(end))
        .unwrap_or(whole);
    let arn = whole.strip_prefix("arn:");
    match arn.and_then(|arn| arn.splitn(5, ':').nth(4)) {
        Some(resource) => name_in_arn(resource),
        None => name_in_path(whole),
    }
}

/// Returns the name in the last part of an ARN.
fn name_in_arn(resource: &str) -> &str {
    if let Some(group) = resource.strip_prefix(LOG_GROUP) {
        return group.split(':').next().unwrap_or(group);
    }
    if let Some(name) = VERSIONED
        .iter()
        .find_map(|kind| resource.strip_prefix(kind))
    {
        return name.split(':').next().unwrap_or(name);
    }
    match resource.rsplit_once('/') {
        Some((_, name)) => name,
        None => split_last_colon(resource).map_or(resource, |(_, name)| name),
    }
}

/// Splits a text at its last colon that is not within the mark of a redaction.
fn split_last_colon(text: &str) -> Option<(&str, &str)> {
    let (head, tail) = text.rsplit_once(':')?;
    match head.strip_suffix("[redacted") {
        Some(head) => {
            let at = head.rfind(':')?;
            Some((text.get(..at)?, text.get(at + 1..)?))
        }
        None => Some((head, tail)),
    }
}

/// Returns the name at the end of a path, or of words that colons separate.
fn name_in_path(path: &str) -> &str {
    if let Some((_, name)) = path.rsplit_once('/') {
        return name;
    }
    match split_last_colon(path) {
        // A port does not identify the host.
        Some((host, port)) if is_number(port) && !host.contains(':') => host,
        Some((_, name)) => name,
        None => path,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_name_is_what_people_call_the_thing() {
        for (id, name) in [
            (
                "arn:aws:lambda:eu-west-1:111122223333:function:pay:$LATEST",
                "pay",
            ),
            (
                "arn:aws:lambda:eu-west-1:111122223333:function:pay:12",
                "pay",
            ),
            (
                "arn:aws:ecs:eu-west-1:111122223333:task-definition/pay:17",
                "pay:17",
            ),
            (
                "arn:aws:logs:eu-west-1:111122223333:log-group:/aws/lambda/pay:*",
                "/aws/lambda/pay",
            ),
            ("arn:aws:iam::111122223333:role/teams/deploy", "deploy"),
            ("arn:aws:rds:eu-west-1:111122223333:db:ledger", "ledger"),
            ("arn:aws:s3:::shop-exports", "shop-exports"),
            ("arn:aws:sqs:eu-west-1:111122223333:orders", "orders"),
            ("registry.example.com/team/shop:1", "shop:1"),
            (
                "//compute.googleapis.com/projects/p/zones/z/instances/web",
                "web",
            ),
            ("AWS::::Account:111122223333", "111122223333"),
            ("AWS::IAM::AccessKey:AKIAEXAMPLE", "AKIAEXAMPLE"),
            ("web-1:9100", "web-1"),
            ("i-0c4e9a71d2b36f580", "i-0c4e9a71d2b36f580"),
            ("[redacted:high_entropy]", "[redacted:high_entropy]"),
            ("team:shop-[redacted:jwt]", "shop-[redacted:jwt]"),
            (
                "arn:aws:sqs:eu-west-1:111122223333:[redacted:jwt]",
                "[redacted:jwt]",
            ),
        ] {
            assert_eq!(short_name(id), name, "{id}");
        }
    }
}
