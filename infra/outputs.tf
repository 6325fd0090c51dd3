output "bucket" {
  description = "Bucket of outputs, logs, code and mandates."
  value       = google_storage_bucket.data.name
}

output "database" {
  description = "Firestore database."
  value       = google_firestore_database.this.name
}

output "functions" {
  description = "Where the functions listen, by name; nobody outside the project gets there."
  value       = { for name, function in module.function : name => function.url }
}

output "installation" {
  description = "Six characters in the name of everything that is made in Cloud TPU."
  value       = local.installation
}

output "prefix" {
  description = "What the names of all resources begin with."
  value       = var.prefix
}

output "project" {
  description = "Project id."
  value       = var.project
}

output "region" {
  description = "Region of functions, bucket and database."
  value       = var.region
}

output "settings" {
  description = "The tables of settings.toml: what `tpuctl init --from-terraform` reads."
  value       = local.settings
}

output "topics" {
  description = "Full names of the topics."
  value       = { for name, topic in google_pubsub_topic.this : name => "projects/${var.project}/topics/${topic.name}" }
}

output "webhook_secrets" {
  description = "Secrets of webhooks: those that end in an address, and those that sign."
  value = {
    for kind in ["key", "url"] : kind => [
      for name, secret in google_secret_manager_secret.webhook :
      secret.secret_id if startswith(name, "webhook-${kind}-")
    ]
  }
}

output "worker_accounts" {
  description = "What slices run as, by team."
  value       = { for name, account in local.workers : name => account.email }
}

output "zones" {
  description = "Zones that may be used."
  value       = var.zones
}
