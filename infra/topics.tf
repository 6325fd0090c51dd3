locals {
  pubsub_agent = "serviceAccount:service-${local.number}@gcp-sa-pubsub.iam.gserviceaccount.com"

  # Whoever may publish on a topic can forge what is on it: people publish orders,
  # workers reports, the sink audit events, and functions what they decided.
  _publishers = {
    alert        = []
    health_check = ["alerts", "launches", "preemptions", "reports"]
    launch       = ["alerts", "launches", "preemptions"]
    park         = ["alerts"]
    recovery     = ["alerts", "launches", "preemptions"]
    report       = ["alerts", "launches", "preemptions"]
  }

  _function_topics = merge([
    for name, topics in local._publishers : {
      for topic in topics : "${name}/${topic}" => { function = name, topic = topic }
    }
  ]...)
}

resource "google_pubsub_topic" "this" {
  for_each = toset(local.topology.topics)

  kms_key_name               = var.kms_key
  message_retention_duration = "${local.topology.delivery.retention_s}s"
  name                       = "${var.prefix}-${each.key}"

  message_storage_policy {
    allowed_persistence_regions = [var.region]
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_pubsub_topic_iam_member" "function" {
  for_each = local._function_topics

  member = local.functions[each.value.function].member
  role   = "roles/pubsub.publisher"
  topic  = google_pubsub_topic.this[each.value.topic].name
}

resource "google_pubsub_topic_iam_member" "worker" {
  for_each = local.workers

  member = each.value.member
  role   = "roles/pubsub.publisher"
  topic  = google_pubsub_topic.this["reports"].name
}

resource "google_pubsub_topic_iam_member" "dead_letters" {
  member = local.pubsub_agent
  role   = "roles/pubsub.publisher"
  topic  = google_pubsub_topic.this["dead-letters"].name
}

module "subscription" {
  source   = "./modules/subscription"
  for_each = local.topology.subscriptions

  ack_deadline_s = local.topology.delivery.ack_deadline_s
  agent          = local.pubsub_agent
  attempts_max   = local.topology.delivery.attempts_max
  backoff_s_max  = local.topology.delivery.backoff_max_s
  backoff_s_min  = local.topology.delivery.backoff_min_s
  channels       = local.channels
  dead_letter_topic = (
    # What cannot be put aside is tried again until it can: nothing comes after it.
    each.value.topic == "dead-letters"
    ? null
    : "projects/${var.project}/topics/${google_pubsub_topic.this["dead-letters"].name}"
  )
  name         = "${var.prefix}-${each.key}"
  push_account = local.invokers["push"].email
  retention_s = (
    each.value.topic == "dead-letters"
    ? local.topology.delivery.dead_letter_retention_s
    : local.topology.delivery.retention_s
  )
  timeout_s     = module.function[each.value.function].timeout_s
  topic         = google_pubsub_topic.this[each.value.topic].name
  unacked_s_max = var.unacked_s_max
  url           = module.function[each.value.function].url

  depends_on = [google_service_account_iam_member.push_tokens]
}
