# One whole installation, as it would be planned in an empty project. Its JSON is what the
# policies in tests/infra look at: `make infra-check`.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  alert_email    = "oncall@example.com"
  alert_webhooks = { lab = {}, pipeline = { kind = "generic", teams = ["vision"] } }
  project        = "example-project"
  region         = "europe-west4"
  source_zip     = "tests/functions.zip"
  teams = {
    vision = { buckets = ["example-vision-data"], members = ["ada@example.com"] }
  }
  users = ["group:tpu-users@example.com"]
  zones = ["europe-west4-b", "us-central2-b"]
}

run "plan" {
  command = plan
}
