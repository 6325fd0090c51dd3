# The tick. A run that fails is not repeated: the next minute is the repetition.

resource "google_cloud_scheduler_job" "tick" {
  attempt_deadline = "${local.topology.scheduler.deadline_s}s"
  description      = "Wakes ${local.topology.scheduler.function} of ${var.prefix}."
  name             = "${var.prefix}-tick"
  region           = var.region
  schedule         = local.topology.scheduler.schedule
  time_zone        = "Etc/UTC"

  http_target {
    http_method = "POST"
    uri         = module.function[local.topology.scheduler.function].url

    oidc_token {
      audience              = module.function[local.topology.scheduler.function].url
      service_account_email = local.invokers["scheduler"].email
    }
  }

  retry_config {
    retry_count = 0
  }
}
