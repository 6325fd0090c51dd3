# What is made of what was asked for.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project    = "example-project"
  region     = "europe-west4"
  source_zip = "tests/functions.zip"
  zones      = ["europe-west4-b", "us-central2-b", "us-central2-a"]
}

run "settings_are_those_of_the_functions" {
  command = plan

  assert {
    condition     = output.settings.wiring == "google"
    error_message = "The command line is pointed at another wiring."
  }

  assert {
    condition     = output.settings.cloud.bucket == "example-project-tpuctl"
    error_message = "The bucket is named otherwise."
  }

  assert {
    condition     = can(regex("^[a-z][a-z0-9]{5}$", output.installation))
    error_message = "The installation is no installation."
  }
}

run "every_topic_of_the_topology" {
  command = plan

  assert {
    condition     = toset(keys(output.topics)) == toset(jsondecode(file("../shared/data/topology.json")).topics)
    error_message = "Topics differ from the topology."
  }
}

run "one_subnetwork_a_region" {
  command = plan

  assert {
    condition     = toset(keys(google_compute_subnetwork.slices)) == toset(["europe-west4", "us-central2"])
    error_message = "Subnetworks differ from the regions of the zones."
  }
}

run "two_prefixes_are_two_installations" {
  command = plan
  variables { prefix = "other" }

  assert {
    condition     = output.installation != run.settings_are_those_of_the_functions.installation
    error_message = "Two installations in one project could delete each other's slices."
  }

  assert {
    condition     = output.database == "other" && output.bucket == "example-project-other"
    error_message = "Two installations share a database or a bucket."
  }
}

run "a_network_that_is_there" {
  command = plan
  variables { network = { name = "shared-vpc", subnetwork = "slices" } }

  assert {
    condition     = length(google_compute_network.this) + length(google_compute_subnetwork.slices) + length(google_compute_firewall.slices) == 0
    error_message = "A network is made beside the one that was named."
  }

  assert {
    condition     = output.settings.cloud.network == "shared-vpc" && output.settings.cloud.subnetwork == "slices"
    error_message = "Slices are put into another network."
  }
}

run "a_way_out_only_when_asked" {
  command = plan
  variables { nat = true }

  assert {
    condition     = length(google_compute_router_nat.slices) == 2
    error_message = "Slices without addresses do not reach the internet."
  }
}

run "the_default_database" {
  command = plan
  variables { database = "(default)" }

  assert {
    condition     = google_firebaserules_release.deny_all.name == "cloud.firestore"
    error_message = "The rules are released for another database."
  }
}

run "a_key_encrypts_everything" {
  command = plan
  variables { kms_key = "projects/example-project/locations/europe-west4/keyRings/ring/cryptoKeys/key" }

  assert {
    condition     = alltrue([for topic in google_pubsub_topic.this : topic.kms_key_name == var.kms_key])
    error_message = "A topic is not encrypted with the key."
  }

  assert {
    condition     = google_storage_bucket.data.encryption[0].default_kms_key_name == var.kms_key && google_storage_bucket.source.encryption[0].default_kms_key_name == var.kms_key
    error_message = "A bucket is not encrypted with the key."
  }

  assert {
    condition     = google_firestore_database.this.cmek_config[0].kms_key_name == var.kms_key
    error_message = "The database is not encrypted with the key."
  }

  assert {
    condition     = google_artifact_registry_repository.functions.kms_key_name == var.kms_key
    error_message = "The images are not encrypted with the key."
  }

  assert {
    condition     = length(google_kms_crypto_key_iam_member.agent) == 7
    error_message = "One of Google's agents cannot use the key."
  }
}

run "protection_comes_off_in_two_steps" {
  command = plan
  variables { deletion_protection = false }

  assert {
    condition     = google_storage_bucket.data.force_destroy && google_firestore_database.this.deletion_policy == "DELETE"
    error_message = "Data cannot be destroyed even when that was asked for."
  }
}

run "logs_are_kept_unless_told" {
  command = plan
  variables { log_days = 30 }

  assert {
    condition     = one([for rule in google_storage_bucket.data.lifecycle_rule : one(rule.condition).matches_prefix if one(rule.action).type == "Delete"]) == tolist(["logs/"])
    error_message = "Something else than logs is deleted."
  }
}

run "logs_of_teams_are_deleted_too" {
  command = plan
  variables {
    log_days = 30
    teams    = { text = { members = ["eve@example.com"] } }
  }

  assert {
    condition     = one([for rule in google_storage_bucket.data.lifecycle_rule : toset(one(rule.condition).matches_prefix) if one(rule.action).type == "Delete"]) == toset(["logs/", "teams/text/logs/"])
    error_message = "A team's logs stay, or something else than logs is deleted."
  }
}

run "a_member_of_a_team_has_its_folder_only" {
  command = plan
  variables {
    teams = { text = { members = ["eve@example.com"] } }
    users = ["user:eve@example.com", "user:bob@example.com"]
  }

  assert {
    condition     = alltrue([for key, right in google_storage_bucket_iam_member.user : strcontains(one(right.condition).expression, "/objects/teams/text/") == startswith(key, "user:eve@")])
    error_message = "A member reaches another folder, or somebody else the team's."
  }
}
