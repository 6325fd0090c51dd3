# The source of the functions and what builds it: nobody who runs can write here.

locals {
  builder = {
    email  = "${google_service_account.builder.account_id}@${var.project}.iam.gserviceaccount.com"
    member = "serviceAccount:${google_service_account.builder.account_id}@${var.project}.iam.gserviceaccount.com"
  }
}

resource "google_service_account" "builder" {
  account_id   = "${var.prefix}-builder"
  description  = "Builds the functions; used by nothing that runs."
  display_name = "${var.prefix} builder"

  depends_on = [google_project_service.this]
}

resource "google_storage_bucket" "source" {
  # checkov:skip=CKV_GCP_62: access is in Cloud Audit Logs; a log bucket would need one itself
  force_destroy               = true # It can be packaged again at any time.
  location                    = var.region
  name                        = "${var.project}-${var.prefix}-source"
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  dynamic "encryption" {
    for_each = local.kms_keys
    content {
      default_kms_key_name = encryption.value
    }
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 30
    }
  }

  versioning {
    enabled = true
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_storage_bucket_object" "source" {
  bucket = google_storage_bucket.source.name
  # The content is in the name: another source is another object, and a new build.
  name   = "functions-${filesha256(var.source_zip)}.zip"
  source = var.source_zip
}

resource "google_artifact_registry_repository" "functions" {
  description   = "Images of the functions of ${var.prefix}."
  format        = "DOCKER"
  kms_key_name  = var.kms_key
  location      = var.region
  repository_id = "${var.prefix}-functions"

  cleanup_policies {
    action = "KEEP"
    id     = "keep-newest"
    most_recent_versions {
      keep_count = 3
    }
  }

  cleanup_policies {
    action = "DELETE"
    id     = "delete-old"
    condition {
      older_than = "2592000s"
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_artifact_registry_repository_iam_member" "builder" {
  location   = var.region
  member     = local.builder.member
  repository = google_artifact_registry_repository.functions.repository_id
  role       = "roles/artifactregistry.writer"
}

resource "google_storage_bucket_iam_member" "builder" {
  bucket = google_storage_bucket.source.name
  member = local.builder.member
  role   = "roles/storage.objectViewer"
}

# Cloud Functions copies each source into a bucket of its own, which it makes by itself.
resource "google_project_iam_member" "builder_staging" {
  member  = local.builder.member
  project = var.project
  role    = "roles/storage.objectViewer"

  condition {
    expression = "resource.name.startsWith(\"projects/_/buckets/gcf-v2-sources-${local.number}-${var.region}\")"
    title      = "the staging bucket of Cloud Functions"
  }
}

resource "google_project_iam_member" "builder_logs" {
  member  = local.builder.member
  project = var.project
  role    = "roles/logging.logWriter"
}
