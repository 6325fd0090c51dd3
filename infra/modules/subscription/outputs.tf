output "name" {
  description = "Name of the subscription."
  value       = google_pubsub_subscription.this.name
}
