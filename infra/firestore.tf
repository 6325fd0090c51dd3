locals {
  # Google indexes single fields by itself; what is searched together is declared.
  _indexes = {
    for index in local.topology.indexes :
    replace(join("-", concat([index.collection], index.fields)), "--", "-") => index
    if length(index.fields) > 1
  }

  # No search begins with these: a map or a text of any size would only cost writes.
  _unindexed = {
    "hosts/attempt"      = { collection = "hosts", field = "attempt" }
    "hosts/setup"        = { collection = "hosts", field = "setup" }
    "jobs/spec"          = { collection = "jobs", field = "spec" }
    "parked/attributes"  = { collection = "parked", field = "attributes" }
    "parked/data"        = { collection = "parked", field = "data" }
    "slices/generations" = { collection = "slices", field = "generations" }
  }

  # Documents that Google deletes within a day after this time.
  _expiring = toset(["instances", "parked", "told", "webhooks"])
}

resource "google_firestore_database" "this" {
  delete_protection_state           = var.deletion_protection ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = var.deletion_protection ? "ABANDON" : "DELETE"
  location_id                       = var.region
  name                              = local.database
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_ENABLED"
  type                              = "FIRESTORE_NATIVE"

  dynamic "cmek_config" {
    for_each = local.kms_keys
    content {
      kms_key_name = cmek_config.value
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_firestore_index" "this" {
  for_each = local._indexes

  collection = each.value.collection
  database   = google_firestore_database.this.name

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path = trimprefix(fields.value, "-")
      order      = startswith(fields.value, "-") ? "DESCENDING" : "ASCENDING"
    }
  }
}

resource "google_firestore_field" "unindexed" {
  for_each = local._unindexed

  collection = each.value.collection
  database   = google_firestore_database.this.name
  field      = each.value.field

  index_config {}
}

resource "google_firestore_field" "expiring" {
  for_each = local._expiring

  collection = each.key
  database   = google_firestore_database.this.name
  field      = "expires_at"

  # Times that only grow, indexed, would limit how fast documents can be written.
  index_config {}
  ttl_config {}
}

resource "google_firebaserules_ruleset" "deny_all" {
  source {
    files {
      content = file("${path.module}/firestore.rules")
      name    = "firestore.rules"
    }
  }

  depends_on = [google_firestore_database.this]

  lifecycle {
    # A ruleset that is released cannot be deleted.
    create_before_destroy = true
  }
}

resource "google_firebaserules_release" "deny_all" {
  name = (
    local.database == "(default)"
    ? "cloud.firestore"
    : "cloud.firestore/${local.database}"
  )
  ruleset_name = "projects/${var.project}/rulesets/${google_firebaserules_ruleset.deny_all.name}"

  lifecycle {
    replace_triggered_by = [google_firebaserules_ruleset.deny_all]
  }
}
