#!/usr/bin/env bash
# Findings of Security Command Center -> Pub/Sub -> intake, as deploy/gcp/scc.tf has it, with gcloud alone.
#
#   deploy/gcp/scc.sh ORGANIZATION PROJECT [https://nightshift.example.com/v1/alerts/pubsub]
#
# Without an address the subscription waits to be pulled from: PULLER=serviceAccount:nightshift@… names who may, whatever the
# workers are. What is there already is left as it is, so that it can be run again, but an address that is given is the one that is
# pushed to from then on. Without one a subscription that pushes is left so, for alerts come that way; how to end that is printed.
# DRY_RUN=1 only prints what it would run where nothing is there.
set -euo pipefail

# Whatever their state: that a finding is inactive or muted is noted on its case, and where it has none it is set aside
# (docs/admission.md). A filter by state would keep away just the message that tells so.
readonly FILTER='finding_class = "THREAT" OR finding_class = "TOXIC_COMBINATION"'
readonly TOPIC=nightshift-scc DEAD=nightshift-scc-dead-letters CONFIG=nightshift

main() {
    if [[ $# -lt 2 || $# -gt 3 || ! $1 =~ ^[0-9]+$ || (${3:-} != "" && $3 != https://*) ||
        (${PULLER:-} != "" && $PULLER != *:*) ]]; then
        sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
        exit 2
    fi
    local organization=$1 project=$2 endpoint=${3:-}
    local number agent scc
    number=$(ask gcloud projects describe "$project" --format 'value(projectNumber)')
    agent=serviceAccount:service-$number@gcp-sa-pubsub.iam.gserviceaccount.com

    for topic in "$TOPIC" "$DEAD"; do
        there gcloud pubsub topics describe "$topic" --project "$project" ||
            run gcloud pubsub topics create "$topic" --project "$project"
    done
    there gcloud pubsub subscriptions describe "$DEAD" --project "$project" ||
        run gcloud pubsub subscriptions create "$DEAD" --project "$project" --topic "$DEAD" \
            --message-retention-duration 7d --expiration-period never

    # Empty without an address: bash before 4.4 takes that for a variable that is not set.
    local push=() account=nightshift-push@$project.iam.gserviceaccount.com
    if [[ -n $endpoint ]]; then
        there gcloud iam service-accounts describe "$account" --project "$project" ||
            run gcloud iam service-accounts create nightshift-push --project "$project" \
                --display-name "Pub/Sub pushes findings to Nightshift"
        # An account of Pub/Sub's own that dates from 8 April 2021 or before signs no tokens unless it is let.
        # https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
        run gcloud iam service-accounts add-iam-policy-binding "$account" --project "$project" \
            --member "$agent" --role roles/iam.serviceAccountTokenCreator
        push=(--push-endpoint "$endpoint" --push-auth-service-account "$account" --push-auth-token-audience "$endpoint")
    fi
    local pushes_to=
    if ! there gcloud pubsub subscriptions describe "$TOPIC" --project "$project"; then
        # Where it pushes, each 503 of the intake is an attempt: 100 of them last for some 15 hours, and are the most there can be.
        run gcloud pubsub subscriptions create "$TOPIC" --project "$project" --topic "$TOPIC" --ack-deadline 60 \
            --message-retention-duration 7d --expiration-period never --min-retry-delay 1s --max-retry-delay 600s \
            --dead-letter-topic "$DEAD" --max-delivery-attempts 100 ${push[@]+"${push[@]}"}
    elif [[ -n $endpoint ]]; then
        run gcloud pubsub subscriptions modify-push-config "$TOPIC" --project "$project" "${push[@]}"
    else
        pushes_to=$(gcloud pubsub subscriptions describe "$TOPIC" --project "$project" \
            --format 'value(pushConfig.pushEndpoint)')
    fi

    # Pub/Sub itself moves what nobody takes.
    run gcloud pubsub topics add-iam-policy-binding "$DEAD" --project "$project" \
        --member "$agent" --role roles/pubsub.publisher
    local taker
    for taker in "$agent" ${PULLER:+"$PULLER"}; do
        run gcloud pubsub subscriptions add-iam-policy-binding "$TOPIC" --project "$project" \
            --member "$taker" --role roles/pubsub.subscriber
    done
    # So that `nightshift doctor` sees what the subscription is set to.
    [[ -z ${PULLER:-} ]] ||
        run gcloud pubsub subscriptions add-iam-policy-binding "$TOPIC" --project "$project" \
            --member "$PULLER" --role roles/pubsub.viewer

    there gcloud scc notifications describe "$CONFIG" --organization "$organization" --location global ||
        run gcloud scc notifications create "$CONFIG" --organization "$organization" --location global \
            --pubsub-topic "projects/$project/topics/$TOPIC" --filter "$FILTER"
    scc=$(ask gcloud scc notifications describe "$CONFIG" --organization "$organization" --location global \
        --format 'value(serviceAccount)')
    run gcloud pubsub topics add-iam-policy-binding "$TOPIC" --project "$project" \
        --member "serviceAccount:$scc" --role roles/pubsub.publisher
    echo "findings come to the subscription projects/$project/subscriptions/$TOPIC"
    if [[ -n $endpoint ]]; then
        echo "pushed as $account: put that into service_accounts of the source"
    elif [[ -n $pushes_to ]]; then
        echo "it pushes to $pushes_to, as before, and cannot be pulled from; to have that instead:"
        echo "  gcloud pubsub subscriptions modify-push-config $TOPIC --project $project --push-endpoint ''"
    elif [[ -z ${PULLER:-} ]]; then
        echo "nobody was named who may pull from it: run this again with PULLER=serviceAccount:…"
    fi
}

run() {
    if [[ -n ${DRY_RUN:-} ]]; then
        printf '%q ' "$@" && echo
    else
        "$@" >/dev/null
    fi
}

there() { [[ -z ${DRY_RUN:-} ]] && "$@" >/dev/null 2>&1; }

ask() {
    if [[ -n ${DRY_RUN:-} ]]; then
        echo UNKNOWN
    else
        "$@"
    fi
}

main "$@"
