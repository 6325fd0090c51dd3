# What every other file stands on: the topology that all wirings share, and the
# settings that functions and the command line get.

locals {
  labels   = merge({ app = "tpuctl", installation = local.installation }, var.labels)
  topology = jsondecode(file("${path.module}/../shared/data/topology.json"))

  database = coalesce(var.database, var.prefix)
  # Two installations in one project differ in their prefix, so they differ here.
  installation = coalesce(
    var.installation,
    "t${substr(sha1("${var.project}/${var.prefix}"), 0, 5)}"
  )
  number  = data.google_project.this.number
  regions = toset([for zone in var.zones : regex("^(.+)-[a-z]$", zone)[0]])

  # Exactly the tables of settings.toml.
  settings = {
    cloud = {
      admins         = var.admins
      audiences      = var.audiences
      bucket         = google_storage_bucket.data.name
      database       = google_firestore_database.this.name
      external_ips   = var.external_ips
      network        = local.network
      prefix         = var.prefix
      project        = var.project
      region         = var.region
      subnetwork     = local.subnetwork
      teams          = local._team_settings
      worker_account = local.workers["default"].email
      zones          = var.zones
    }
    installation = local.installation
    limits       = { for key, value in var.limits : key => value if value != null }
    policy       = var.policy
    wiring       = "google"
  }

  # What the function alert gets on top: the names of the variables that hold the secrets.
  alert_settings = {
    webhooks = {
      for name, webhook in var.alert_webhooks : name => merge(
        { for key, value in webhook : key => value if value != null },
        { url_env = local.webhook_variables[name].url },
        webhook.kind == "generic" ? { signing_secret_env = local.webhook_variables[name].key } : {},
      )
    }
  }
  webhook_variables = {
    for name in keys(var.alert_webhooks) : name => {
      key = "TPUCTL_WEBHOOK_KEY_${upper(replace(name, "-", "_"))}"
      url = "TPUCTL_WEBHOOK_URL_${upper(replace(name, "-", "_"))}"
    }
  }

  _team_settings = {
    for name, team in var.teams : name => {
      members        = team.members
      worker_account = local.workers[name].email
    }
  }
}
