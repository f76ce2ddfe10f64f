//! Finds the workload of a container. An ECS task is not a pod, so commands for one do nothing to the other.

use nightshift_alert::{Alert, Resource};

/// Types that feeds use for an ECS task and its cluster: GuardDuty, its attack sequences, Security Hub.
const TASKS: [&str; 3] = ["ECSTask", "ECS_TASK", "AwsEcsTask"];
const CLUSTERS: [&str; 3] = ["ECSCluster", "ECS_CLUSTER", "AwsEcsCluster"];

/// Returns the ARN of the ECS task, or `None` when several are named, because a command takes one.
pub(super) fn task(alert: &Alert) -> Option<String> {
    let mut tasks = resources_of_kinds(alert, &TASKS);
    let task = tasks.next()?;
    tasks.next().is_none().then(|| task.id.clone())
}

/// Returns whether the container runs in ECS, which has no pods.
pub(super) fn is_of_ecs(alert: &Alert) -> bool {
    resources_of_kinds(alert, &TASKS)
        .chain(resources_of_kinds(alert, &CLUSTERS))
        .next()
        .is_some()
}

fn resources_of_kinds<'a>(
    alert: &'a Alert,
    kinds: &'static [&str],
) -> impl Iterator<Item = &'a Resource> {
    let all = alert.resources.iter();
    all.filter(|resource| kinds.contains(&resource.kind.as_str()))
}
