#!/bin/sh
# Puts sample alerts into a queue of RabbitMQ by its management interface: the files of /alerts, over and over, each time
# under another id, so that they are alerts of their own.
#
# RABBITMQ  http://HOST:15672      RABBITMQ_USER, RABBITMQ_PASSWORD  of any characters: in the address a / would end it      QUEUE  its name      MANY  how many      ALERTS  the folder with the files
# PROMETHEUS  http://HOST:9090, which must have scraped the worker before: what counters rise by before that is in no graph
set -eu
folder=${ALERTS:-/alerts}
sent=0
tried=0
# Without a password the address has one.
[ -z "${RABBITMQ_PASSWORD:-}" ] || set -- --user "${RABBITMQ_USER:-nightshift}:$RABBITMQ_PASSWORD"
until said=$(curl "$@" --silent --show-error --fail --output /dev/null "$RABBITMQ/api/queues/%2F/$QUEUE" 2>&1); do
    tried=$((tried + 1))
    # A queue that the worker has not made yet is no news.
    [ $((tried % 30)) -ne 10 ] || echo "waiting for the queue $QUEUE: $said" >&2
    sleep 1
done
until [ -z "${PROMETHEUS:-}" ] ||
    curl --silent --fail "$PROMETHEUS/api/v1/query?query=nightshift_messages_total" | grep -q '"value"'; do
    sleep 1
done
while [ "$sent" -lt "$MANY" ]; do
    for file in "$folder"/*.json; do
        [ "$sent" -lt "$MANY" ] || break
        # Ids and names of findings end in long hexadecimal numbers; what is in base64 (Pub/Sub) stays as it is, and is a sighting.
        payload=$(sed -E "s/\"([iI]d|uid|[aA]rn)\": *\"([^\"]*[0-9a-f-]{30})\"/\"\1\": \"\2-$sent\"/g" "$file" | base64 | tr -d '\n')
        curl "$@" --silent --show-error --fail --output /dev/null \
            --header 'content-type: application/json' \
            --data "{\"properties\":{\"delivery_mode\":2},\"routing_key\":\"$QUEUE\",\"payload_encoding\":\"base64\",\"payload\":\"$payload\"}" \
            "$RABBITMQ/api/exchanges/%2F/amq.default/publish"
        sent=$((sent + 1))
    done
done
echo "$sent sample alerts are in the queue $QUEUE"
