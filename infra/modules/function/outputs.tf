output "name" {
  description = "Name of the function and of its Cloud Run service."
  value       = google_cloudfunctions2_function.this.name
}

output "timeout_s" {
  description = "For how many seconds one request may run."
  value       = google_cloudfunctions2_function.this.service_config[0].timeout_seconds
}

output "url" {
  description = "Where it listens: only once it is there may somebody be told."
  value       = var.url

  depends_on = [google_cloud_run_v2_service_iam_member.invoker]
}
