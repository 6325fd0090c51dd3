# What jobs read and write, and the agents' orders. Nothing of a user is ever deleted here.
# A team has a folder of its own for all of it, people without one share the top of the bucket.

locals {
  _objects = "projects/_/buckets/${google_storage_bucket.data.name}/objects"

  # The keys are those of the workers.
  _team_folders = merge(
    { default = "" },
    { for name in keys(var.teams) : name => "teams/${name}/" },
  )

  # Where agents leave a report that they could not publish: beside a mandate, never in its place.
  _host_report = "resource.name.extract(\".host-{index}.json\") != \"\""

  _worker_rights = {
    code    = { folder = "code", only = "", role = "roles/storage.objectViewer", title = "code bundles" }
    control = { folder = "control", only = "", role = "roles/storage.objectViewer", title = "mandates and specs" }
    logs    = { folder = "logs", only = "", role = "roles/storage.objectCreator", title = "logs" }
    outputs = { folder = "outputs", only = "", role = "roles/storage.objectUser", title = "outputs of jobs" }
    reports = { folder = "control/mandates", only = local._host_report, role = "roles/storage.objectUser", title = "reports beside mandates" }
  }

  _worker_grants = merge([
    for worker, account in local.workers : {
      for right, grant in local._worker_rights : "${worker}/${right}" => {
        member = account.member
        role   = grant.role
        title  = grant.title
        when = join(" && ", compact([
          "resource.name.startsWith(\"${local._objects}/${local._team_folders[worker]}${grant.folder}/\")",
          grant.only,
        ]))
      }
    }
  ]...)

  _team_buckets = merge([
    for name, team in var.teams : {
      for bucket in team.buckets : "${name}/${bucket}" => { bucket = bucket, team = name }
    }
  ]...)
}

resource "google_storage_bucket" "data" {
  # checkov:skip=CKV_GCP_62: access is in Cloud Audit Logs; a log bucket would need one itself
  # checkov:skip=CKV_GCP_78: soft delete keeps a week; versions would keep every checkpoint twice
  force_destroy               = !var.deletion_protection
  location                    = var.region
  name                        = "${var.project}-${var.prefix}"
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  dynamic "encryption" {
    for_each = local.kms_keys
    content {
      default_kms_key_name = encryption.value
    }
  }

  # What was never finished is no data.
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 7
    }
  }

  # Only what says that anybody could make it again.
  dynamic "lifecycle_rule" {
    for_each = (
      var.log_days == null
      ? []
      : [var.log_days]
    )
    content {
      action {
        type = "Delete"
      }
      condition {
        age            = lifecycle_rule.value
        matches_prefix = [for folder in values(local._team_folders) : "${folder}logs/"]
      }
    }
  }

  # A week to take back what was deleted or written over. Versions would say the same twice,
  # and a training run writes over terabytes.
  soft_delete_policy {
    retention_duration_seconds = 604800
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

# Names only. Who may not list is told "forbidden" instead of "not there", and everyone
# below must be able to tell these apart.
resource "google_storage_bucket_iam_member" "lister" {
  for_each = merge(
    { for name, account in local.workers : "worker/${name}" => account.member },
    { for member in local.users : "user/${member}" => member },
    { "function/launch" = local.functions["launch"].member },
  )

  bucket = google_storage_bucket.data.name
  member = each.value
  role   = "projects/${var.project}/roles/${google_project_iam_custom_role.this["lister"].role_id}"
}

resource "google_storage_bucket_iam_member" "launch" {
  for_each = local._team_folders

  bucket = google_storage_bucket.data.name
  member = local.functions["launch"].member
  role   = "roles/storage.objectUser"

  condition {
    expression = "resource.name.startsWith(\"${local._objects}/${each.value}control/\")"
    title      = "mandates"
  }
}

resource "google_storage_bucket_iam_member" "worker" {
  for_each = local._worker_grants

  bucket = google_storage_bucket.data.name
  member = each.value.member
  role   = each.value.role

  condition {
    expression = each.value.when
    title      = each.value.title
  }
}

# A team's own buckets: its data and its checkpoints.
resource "google_storage_bucket_iam_member" "team" {
  for_each = local._team_buckets

  bucket = each.value.bucket
  member = local.workers[each.value.team].member
  role   = "roles/storage.objectUser"
}
