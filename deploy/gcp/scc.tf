# Findings of Security Command Center -> Pub/Sub -> intake.
#
#   terraform init && terraform apply -var organization=123456789012 -var project=security-tools \
#     -var push_endpoint=https://nightshift.example.com/v1/alerts/pubsub
#
# Without push_endpoint the subscription waits to be pulled from. docs: deploy/README.md.

terraform {
  required_version = ">= 1.5"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0"
    }
  }
}

variable "organization" {
  type        = string
  description = "Number of the organisation whose findings are wanted."

  validation {
    condition     = can(regex("^[0-9]+$", var.organization))
    error_message = "The number of the organisation, without organizations/."
  }
}

variable "project" {
  type        = string
  description = "Project that topic and subscription are in."
}

# Whatever their state: that a finding is inactive or muted is noted on its case, and where it has none it is set aside
# (docs/admission.md). A filter by state would keep away just the message that tells so.
variable "filter" {
  type        = string
  description = "Which findings are sent. Classes that are no detections would be set aside anyway."
  default     = "finding_class = \"THREAT\" OR finding_class = \"TOXIC_COMBINATION\""
}

variable "push_endpoint" {
  type        = string
  description = "https://… of the intake, for Pub/Sub to push to with an OIDC token; empty, it waits to be pulled from."
  default     = ""

  validation {
    condition     = var.push_endpoint == "" || startswith(var.push_endpoint, "https://")
    error_message = "Pub/Sub pushes to https:// alone."
  }
}

variable "puller" {
  type        = string
  description = "Member that may pull, such as serviceAccount:nightshift@security-tools.iam.gserviceaccount.com; empty, nobody."
  default     = ""
}

provider "google" {
  project = var.project
}

data "google_project" "this" {
  project_id = var.project
}

locals {
  pushes = var.push_endpoint != ""
  pubsub = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_topic" "findings" {
  name = "nightshift-scc"
}

# What was handed over a hundred times and not taken.
resource "google_pubsub_topic" "dead_letters" {
  name = "nightshift-scc-dead-letters"
}

resource "google_pubsub_subscription" "dead_letters" {
  name                       = "nightshift-scc-dead-letters"
  topic                      = google_pubsub_topic.dead_letters.id
  message_retention_duration = "604800s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_scc_v2_organization_notification_config" "findings" {
  config_id    = "nightshift"
  organization = var.organization
  location     = "global"
  description  = "Findings for Nightshift"
  pubsub_topic = google_pubsub_topic.findings.id

  streaming_config {
    filter = var.filter
  }
}

resource "google_pubsub_topic_iam_member" "scc_publishes" {
  topic  = google_pubsub_topic.findings.id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${google_scc_v2_organization_notification_config.findings.service_account}"
}

# Whom the intake believes: the token that Pub/Sub sends is this account's, for this endpoint.
resource "google_service_account" "push" {
  count        = local.pushes ? 1 : 0
  account_id   = "nightshift-push"
  display_name = "Pub/Sub pushes findings to Nightshift"
}

# An account of Pub/Sub's own that dates from 8 April 2021 or before signs no tokens unless it is let.
# https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
resource "google_service_account_iam_member" "pubsub_signs" {
  count              = local.pushes ? 1 : 0
  service_account_id = google_service_account.push[0].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = local.pubsub
}

resource "google_pubsub_subscription" "findings" {
  name                       = "nightshift-scc"
  topic                      = google_pubsub_topic.findings.id
  ack_deadline_seconds       = 60
  message_retention_duration = "604800s"

  expiration_policy {
    ttl = ""
  }

  # Where it pushes, each 503 of the intake is an attempt, also while the database is away. 100 of them last for some 15 hours,
  # 10 were over in minutes; 600 seconds and 100 attempts are the most that Pub/Sub allows.
  retry_policy {
    minimum_backoff = "1s"
    maximum_backoff = "600s"
  }

  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.dead_letters.id
    max_delivery_attempts = 100
  }

  dynamic "push_config" {
    for_each = local.pushes ? [var.push_endpoint] : []

    content {
      push_endpoint = push_config.value

      oidc_token {
        service_account_email = google_service_account.push[0].email
        audience              = push_config.value
      }
    }
  }
}

# Pub/Sub itself moves what nobody takes.
resource "google_pubsub_topic_iam_member" "dead_letters" {
  topic  = google_pubsub_topic.dead_letters.id
  role   = "roles/pubsub.publisher"
  member = local.pubsub
}

resource "google_pubsub_subscription_iam_member" "dead_letters" {
  subscription = google_pubsub_subscription.findings.id
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub
}

resource "google_pubsub_subscription_iam_member" "puller" {
  count        = var.puller == "" ? 0 : 1
  subscription = google_pubsub_subscription.findings.id
  role         = "roles/pubsub.subscriber"
  member       = var.puller
}

# So that `nightshift doctor` sees what the subscription is set to.
resource "google_pubsub_subscription_iam_member" "puller_looks" {
  count        = var.puller == "" ? 0 : 1
  subscription = google_pubsub_subscription.findings.id
  role         = "roles/pubsub.viewer"
  member       = var.puller
}

output "subscription" {
  value = google_pubsub_subscription.findings.id
}

output "pushed_as" {
  description = "Whose tokens the intake has to take."
  value       = local.pushes ? google_service_account.push[0].email : null
}
