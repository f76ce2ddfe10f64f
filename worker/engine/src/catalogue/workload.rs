//! What a container is part of: a task of ECS is no pod, so the commands for one do nothing to the other.

use nightshift_alert::{Alert, Resource};

/// What feeds call a task of ECS, and the cluster of one: GuardDuty, its attack sequences, Security Hub.
const TASKS: [&str; 3] = ["ECSTask", "ECS_TASK", "AwsEcsTask"];
const CLUSTERS: [&str; 3] = ["ECSCluster", "ECS_CLUSTER", "AwsEcsCluster"];

/// The ARN of the task of ECS; none where several are named, for a command takes one.
pub(super) fn task(alert: &Alert) -> Option<String> {
    let mut tasks = of(alert, &TASKS);
    let task = tasks.next()?;
    tasks.next().is_none().then(|| task.id.clone())
}

/// Whether it runs in ECS, where there are no pods.
pub(super) fn is_of_ecs(alert: &Alert) -> bool {
    of(alert, &TASKS)
        .chain(of(alert, &CLUSTERS))
        .next()
        .is_some()
}

fn of<'a>(alert: &'a Alert, kinds: &'static [&str]) -> impl Iterator<Item = &'a Resource> {
    let all = alert.resources.iter();
    all.filter(|resource| kinds.contains(&resource.kind.as_str()))
}
