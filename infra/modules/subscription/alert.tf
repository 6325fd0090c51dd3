resource "google_monitoring_alert_policy" "unacked" {
  combiner              = "OR"
  display_name          = "${var.name}: messages wait"
  notification_channels = var.channels
  severity              = "WARNING"

  conditions {
    display_name = "oldest unacked message of ${google_pubsub_subscription.this.name}"

    condition_threshold {
      comparison = "COMPARISON_GT"
      duration   = "120s"
      filter = join(" AND ", [
        "metric.type = \"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"",
        "resource.type = \"pubsub_subscription\"",
        "resource.labels.subscription_id = \"${google_pubsub_subscription.this.name}\"",
      ])
      threshold_value = var.unacked_s_max

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    content   = "A message on ${var.name} has waited for more than ${var.unacked_s_max} s: its function fails or does not run. Look at its logs; the messages are tried again by themselves."
    mime_type = "text/markdown"
  }
}
