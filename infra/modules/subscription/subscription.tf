# A push subscription with all that it needs to be trusted: retry, dead letter,
# an identity of its own, and an alert when nobody empties it.

resource "google_pubsub_subscription" "this" {
  ack_deadline_seconds       = var.ack_deadline_s
  message_retention_duration = "${var.retention_s}s"
  name                       = var.name
  topic                      = var.topic

  dynamic "dead_letter_policy" {
    for_each = (
      var.dead_letter_topic == null
      ? []
      : [var.dead_letter_topic]
    )
    content {
      dead_letter_topic     = dead_letter_policy.value
      max_delivery_attempts = var.attempts_max
    }
  }

  # It never expires, however long nothing comes.
  expiration_policy {
    ttl = ""
  }

  push_config {
    push_endpoint = var.url

    oidc_token {
      audience              = var.url
      service_account_email = var.push_account
    }
  }

  retry_policy {
    maximum_backoff = "${var.backoff_s_max}s"
    minimum_backoff = "${var.backoff_s_min}s"
  }

  lifecycle {
    precondition {
      condition     = var.timeout_s < var.ack_deadline_s
      error_message = "${var.name}: the function may run for ${var.timeout_s} s, but its message comes again after ${var.ack_deadline_s} s: set timeout_s below ack_deadline_s in shared/data/topology.json."
    }
  }
}

# Without this Pub/Sub cannot take a message out that it moves to the dead letters.
resource "google_pubsub_subscription_iam_member" "agent" {
  member       = var.agent
  role         = "roles/pubsub.subscriber"
  subscription = google_pubsub_subscription.this.name
}
