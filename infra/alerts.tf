# What is told to the people who run this. What is told to those who train is the function
# `alert`; these here also work when no function does.

locals {
  channels = [for channel in google_monitoring_notification_channel.this : channel.name]

  _channels = merge(
    var.alert_channels,
    var.alert_email == null ? {} : {
      email = { labels = { email_address = var.alert_email }, type = "email" }
    },
  )

  _tick_service = local.functions[local.topology.scheduler.function].service
}

resource "google_monitoring_notification_channel" "this" {
  for_each = local._channels

  display_name = "${var.prefix} ${each.key}"
  labels       = each.value.labels
  type         = each.value.type

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "missed_ticks" {
  combiner              = "OR"
  display_name          = "${var.prefix}: ticks are missing"
  notification_channels = local.channels
  severity              = "CRITICAL"

  conditions {
    display_name = "no successful ${local._tick_service} for 5 min"

    condition_absent {
      duration = "300s"
      filter = join(" AND ", [
        "metric.type = \"run.googleapis.com/request_count\"",
        "metric.labels.response_code_class = \"2xx\"",
        "resource.type = \"cloud_run_revision\"",
        "resource.labels.service_name = \"${local._tick_service}\"",
      ])

      aggregations {
        alignment_period     = "60s"
        cross_series_reducer = "REDUCE_SUM"
        per_series_aligner   = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    content   = "The tick has not succeeded for five minutes. Slices run on, but a loss that nobody reported is not seen. Look at the job ${google_cloud_scheduler_job.tick.name} of Cloud Scheduler, then at the logs of ${local._tick_service}."
    mime_type = "text/markdown"
  }
}

resource "google_monitoring_alert_policy" "dead_letters" {
  combiner              = "OR"
  display_name          = "${var.prefix}: dead letters"
  notification_channels = local.channels
  severity              = "ERROR"

  conditions {
    display_name = "a message used up its attempts"

    condition_threshold {
      comparison = "COMPARISON_GT"
      duration   = "0s"
      filter = join(" AND ", [
        "metric.type = \"pubsub.googleapis.com/subscription/dead_letter_message_count\"",
        "resource.type = \"pubsub_subscription\"",
        "resource.labels.subscription_id = starts_with(\"${var.prefix}-\")",
      ])
      threshold_value = 0

      aggregations {
        alignment_period   = "60s"
        per_series_aligner = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    content   = "A message was delivered ${local.topology.delivery.attempts_max} times and never handled. It is kept under `parked` in the database ${local.database}, with the reason."
    mime_type = "text/markdown"
  }
}

resource "google_logging_metric" "outbox_age" {
  description     = "Age of the oldest event that was committed and not yet published."
  filter          = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${local._tick_service}\" AND jsonPayload.outbox_age_s>=0"
  name            = "${var.prefix}/outbox_age_s"
  value_extractor = "EXTRACT(jsonPayload.outbox_age_s)"

  bucket_options {
    exponential_buckets {
      growth_factor      = 2
      num_finite_buckets = 20
      scale              = 1
    }
  }

  metric_descriptor {
    metric_kind = "DELTA"
    unit        = "s"
    value_type  = "DISTRIBUTION"
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "outbox_age" {
  combiner              = "OR"
  display_name          = "${var.prefix}: events are not published"
  notification_channels = local.channels
  severity              = "ERROR"

  conditions {
    display_name = "oldest event in the outbox"

    condition_threshold {
      comparison = "COMPARISON_GT"
      duration   = "120s"
      filter = join(" AND ", [
        "metric.type = \"logging.googleapis.com/user/${google_logging_metric.outbox_age.name}\"",
        "resource.type = \"cloud_run_revision\"",
      ])
      threshold_value = var.outbox_age_s_max

      aggregations {
        alignment_period     = "60s"
        cross_series_reducer = "REDUCE_MAX"
        per_series_aligner   = "ALIGN_PERCENTILE_99"
      }
    }
  }

  documentation {
    content   = "Events are committed and not published: a function lost the right to publish, or Pub/Sub refuses. Nothing is lost; everything waits."
    mime_type = "text/markdown"
  }
}

resource "google_logging_metric" "jobs_failed" {
  description = "Jobs that failed for good."
  filter      = "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${local.functions["alert"].service}\" AND jsonPayload.logger=\"tpuctl.alert\" AND jsonPayload.event=\"JobFailed\""
  name        = "${var.prefix}/jobs_failed"

  metric_descriptor {
    metric_kind = "DELTA"
    unit        = "1"
    value_type  = "INT64"
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "jobs_failed" {
  combiner              = "OR"
  display_name          = "${var.prefix}: a job failed"
  notification_channels = local.channels
  severity              = "WARNING"

  conditions {
    display_name = "jobs that failed for good"

    condition_threshold {
      comparison = "COMPARISON_GT"
      duration   = "0s"
      filter = join(" AND ", [
        "metric.type = \"logging.googleapis.com/user/${google_logging_metric.jobs_failed.name}\"",
        "resource.type = \"cloud_run_revision\"",
      ])
      threshold_value = 0

      aggregations {
        alignment_period     = "60s"
        cross_series_reducer = "REDUCE_SUM"
        per_series_aligner   = "ALIGN_DELTA"
      }
    }
  }

  documentation {
    content   = "A job failed for good. Its owner was told why; `tpuctl show JOB` says it again."
    mime_type = "text/markdown"
  }
}
