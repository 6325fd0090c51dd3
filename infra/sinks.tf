# What Google itself says about slices. It arrives on a topic of its own, on which only the
# sink's account may publish, so that no worker can pretend to have been preempted.

locals {
  _vm_events = [
    "hostError",
    "preempted",
    "terminateOnHostMaintenance",
    "upcomingMaintenance",
  ]
  # What our own bids and bells leave in the log would only wake us up again.
  _tpu_methods = [
    "Delete",
    "PerformMaintenance",
    "Reset",
    "Stop",
  ]

  _vm_filter = join(" AND ", [
    "log_id(\"cloudaudit.googleapis.com/system_event\")",
    "protoPayload.methodName=~\"^(v1[.])?compute[.]instances[.](${join("|", local._vm_events)})$\"",
  ])
  _tpu_filter = join(" AND ", [
    "protoPayload.serviceName=\"tpu.googleapis.com\"",
    join(" OR ", [
      "(log_id(\"cloudaudit.googleapis.com/system_event\")",
      "(log_id(\"cloudaudit.googleapis.com/activity\") AND protoPayload.methodName=~\"[.](${join("|", local._tpu_methods)})[A-Za-z]*$\"))",
    ]),
  ])
}

resource "google_logging_project_sink" "audit" {
  description            = "Preemptions, maintenance and TPU events for ${var.prefix}."
  destination            = "pubsub.googleapis.com/projects/${var.project}/topics/${google_pubsub_topic.this["audit"].name}"
  filter                 = "(${local._vm_filter}) OR (${local._tpu_filter})"
  name                   = "${var.prefix}-audit"
  unique_writer_identity = true
}

resource "google_pubsub_topic_iam_member" "audit" {
  member = google_logging_project_sink.audit.writer_identity
  role   = "roles/pubsub.publisher"
  topic  = google_pubsub_topic.this["audit"].name
}
