# People: they publish orders, upload code and specs, read what became of them, and begin
# ticks. In the bucket a member of a team has the team's folder, and nothing else.

locals {
  _team_of = merge([
    for name, team in var.teams : {
      for email in team.members :
      format("%s:%s", endswith(email, ".gserviceaccount.com") ? "serviceAccount" : "user", email) => name
    }
  ]...)

  users = toset(concat(tolist(var.users), keys(local._team_of)))

  _user_rights = {
    code    = { folder = "code", role = "roles/storage.objectUser", title = "code bundles" }
    logs    = { folder = "logs", role = "roles/storage.objectViewer", title = "logs" }
    outputs = { folder = "outputs", role = "roles/storage.objectViewer", title = "outputs of jobs" }
    specs   = { folder = "control/specs", role = "roles/storage.objectUser", title = "job specs" }
  }

  _user_grants = merge([
    for member in local.users : {
      for right, grant in local._user_rights : "${member}/${right}" => merge(grant, {
        member = member
        path   = "${local._team_folders[lookup(local._team_of, member, "default")]}${grant.folder}"
      })
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

# `tpuctl poke`. Cloud Scheduler knows neither rights on a single job nor conditions on its
# name, and the smallest role of its own reads the project as well.
resource "google_project_iam_member" "user_poke" {
  for_each = local.users

  member  = each.key
  project = var.project
  role    = "projects/${var.project}/roles/${google_project_iam_custom_role.this["waker"].role_id}"
}

resource "google_storage_bucket_iam_member" "user" {
  for_each = local._user_grants

  bucket = google_storage_bucket.data.name
  member = each.value.member
  role   = each.value.role

  condition {
    expression = "resource.name.startsWith(\"${local._objects}/${each.value.path}/\")"
    title      = each.value.title
  }
}
