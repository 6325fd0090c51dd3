# People: they publish orders, upload code and specs, and read what became of them.

locals {
  _members = flatten([for team in values(var.teams) : team.members])

  users = toset(concat(tolist(var.users), [
    for email in local._members :
    format("%s:%s", endswith(email, ".gserviceaccount.com") ? "serviceAccount" : "user", email)
  ]))

  _user_rights = {
    code    = { role = "roles/storage.objectUser", title = "code bundles", when = local._folders["code"] }
    logs    = { role = "roles/storage.objectViewer", title = "logs", when = local._folders["logs"] }
    outputs = { role = "roles/storage.objectViewer", title = "outputs of jobs", when = local._folders["outputs"] }
    specs   = { role = "roles/storage.objectUser", title = "job specs", when = local._folders["control/specs"] }
  }

  _user_grants = merge([
    for member in local.users : {
      for right, grant in local._user_rights :
      "${member}/${right}" => merge(grant, { member = member })
    }
  ]...)
}

resource "google_pubsub_topic_iam_member" "user" {
  for_each = local.users

  member = each.key
  role   = "roles/pubsub.publisher"
  topic  = google_pubsub_topic.this["commands"].name
}

resource "google_project_iam_member" "user_documents" {
  for_each = local.users

  member  = each.key
  project = var.project
  role    = "roles/datastore.viewer"

  condition {
    expression = "resource.name == \"projects/${var.project}/databases/${google_firestore_database.this.name}\""
    title      = "the database of ${var.prefix}"
  }
}

resource "google_storage_bucket_iam_member" "user" {
  for_each = local._user_grants

  bucket = google_storage_bucket.data.name
  member = each.value.member
  role   = each.value.role

  condition {
    expression = each.value.when
    title      = each.value.title
  }
}
