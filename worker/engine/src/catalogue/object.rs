//! Finds the stored object that an alert is about.
//!
//! A scan names the object and the paths of files inside it alike, and the author of an archive chose those paths. Only
//! a value that the feed also names in full, within the bucket, counts as an object.

use nightshift_alert::{Alert, IndicatorKind};

/// Returns the object's key in this bucket, or `None` when several are named, because a command takes one.
pub(super) fn object_key(alert: &Alert, bucket: &str) -> Option<String> {
    let with = |kind| {
        let all = alert.indicators.iter();
        all.filter(move |one| one.kind == kind)
    };
    let is_object = |key: &str| {
        with(IndicatorKind::Arn).any(|arn| bucket_and_key(&arn.value) == Some((bucket, key)))
    };
    let mut keys = with(IndicatorKind::File).filter(|file| is_object(&file.value));
    let key = keys.next()?;
    keys.next().is_none().then(|| key.value.clone())
}

/// Returns bucket and key of an object's ARN, which names neither region nor account.
fn bucket_and_key(arn: &str) -> Option<(&str, &str)> {
    let (_, rest) = arn.strip_prefix("arn:")?.split_once(':')?;
    rest.strip_prefix("s3:::")?.split_once('/')
}
