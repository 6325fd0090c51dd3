# What a person may write wrongly is refused before anything is made.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project    = "example-project"
  region     = "europe-west4"
  source_zip = "tests/functions.zip"
  zones      = ["europe-west4-b"]
}

run "prefix_too_long" {
  command = plan
  variables { prefix = "much-too-long" }
  expect_failures = [var.prefix]
}

run "prefix_begins_with_a_digit" {
  command = plan
  variables { prefix = "1abc" }
  expect_failures = [var.prefix]
}

run "project_with_capitals" {
  command = plan
  variables { project = "My-Project" }
  expect_failures = [var.project]
}

run "region_that_is_a_zone" {
  command = plan
  variables { region = "europe-west4-b" }
  expect_failures = [var.region]
}

run "no_zones" {
  command = plan
  variables { zones = [] }
  expect_failures = [var.zones]
}

run "zone_that_is_a_region" {
  command = plan
  variables { zones = ["europe-west4"] }
  expect_failures = [var.zones]
}

run "everybody_may_submit" {
  command = plan
  variables { users = ["allUsers"] }
  expect_failures = [var.users]
}

run "a_whole_domain_may_submit" {
  command = plan
  variables { users = ["domain:example.com"] }
  expect_failures = [var.users]
}

run "webhook_of_another_kind" {
  command = plan
  variables { alert_webhooks = { lab = { kind = "pager" } } }
  expect_failures = [var.alert_webhooks]
}

run "webhook_with_a_space" {
  command = plan
  variables { alert_webhooks = { "my lab" = {} } }
  expect_failures = [var.alert_webhooks]
}

run "team_called_default" {
  command = plan
  variables { teams = { default = { members = [] } } }
  expect_failures = [var.teams]
}

run "too_many_teams" {
  command = plan
  variables { teams = { for index in range(20) : "team-${index}" => { members = [] } } }
  expect_failures = [var.teams]
}

run "team_member_without_address" {
  command = plan
  variables { teams = { vision = { members = ["ada"] } } }
  expect_failures = [var.teams]
}

run "installation_too_long" {
  command = plan
  variables { installation = "abcdefg" }
  expect_failures = [var.installation]
}

run "no_slice_a_minute" {
  command = plan
  variables { limits = { creates_per_minute = 0 } }
  expect_failures = [var.limits]
}

run "half_a_slice_an_owner" {
  command = plan
  variables { limits = { slices_per_owner = 0.5 } }
  expect_failures = [var.limits]
}

run "key_that_is_a_ring" {
  command = plan
  variables { kms_key = "projects/p/locations/europe-west4/keyRings/r" }
  expect_failures = [var.kms_key]
}

run "region_without_addresses" {
  command = plan
  variables { zones = ["mars-north1-a"] }
  expect_failures = [google_compute_subnetwork.slices]
}
