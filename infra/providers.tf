provider "google" {
  billing_project       = var.project
  default_labels        = local.labels
  project               = var.project
  region                = var.region
  user_project_override = true
}

data "google_project" "this" {
  project_id = var.project
}
