# One function: internal, with an account of its own, one request at a time.

resource "google_cloudfunctions2_function" "this" {
  description  = "tpuctl: ${var.entry_point}"
  kms_key_name = var.kms_key
  labels       = var.labels
  location     = var.region
  name         = var.name

  build_config {
    docker_repository = var.build.repository
    entry_point       = var.entry_point
    runtime           = "python311"
    service_account   = var.build.account

    source {
      storage_source {
        bucket = var.build.bucket
        object = var.build.object
      }
    }
  }

  service_config {
    all_traffic_on_latest_revision   = true
    available_cpu                    = "1"
    available_memory                 = "${var.memory_mib}Mi"
    environment_variables            = var.environment
    ingress_settings                 = "ALLOW_INTERNAL_ONLY"
    max_instance_count               = var.instances_max
    max_instance_request_concurrency = 1
    min_instance_count               = 0
    service_account_email            = var.account
    timeout_seconds                  = var.timeout_s

    dynamic "secret_environment_variables" {
      for_each = var.secrets
      content {
        key        = secret_environment_variables.key
        project_id = var.project
        secret     = secret_environment_variables.value
        version    = "latest"
      }
    }
  }
}

# A function is called through its Cloud Run service, so the right to call is bound there.
resource "google_cloud_run_v2_service_iam_member" "invoker" {
  location = google_cloudfunctions2_function.this.location
  member   = var.invoker
  name     = google_cloudfunctions2_function.this.name
  role     = "roles/run.invoker"
}
