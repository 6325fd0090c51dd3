locals {
  # What each function gets beside the settings. A secret that is not named here is
  # one that a function cannot read.
  _function_secrets = {
    alert = {
      for name, variable in local._webhook_secrets :
      variable => google_secret_manager_secret.webhook[name].secret_id
    }
    launch = { TPUCTL_SECRET = google_secret_manager_secret.token.secret_id }
    report = { TPUCTL_SECRET = google_secret_manager_secret.token.secret_id }
  }

  # Who calls it: the clock or Pub/Sub.
  _function_invokers = {
    for name in keys(local.topology.functions) : name => (
      name == local.topology.scheduler.function
      ? local.invokers["scheduler"]
      : local.invokers["push"]
    )
  }

  # Cloud Run's deterministic address: known before the service is there, so that the
  # function can be told what its callers' tokens must be meant for.
  _function_urls = {
    for name, function in local.functions :
    name => "https://${function.service}-${local.number}.${var.region}.run.app"
  }
}

module "function" {
  source   = "./modules/function"
  for_each = local.topology.functions

  account = local.functions[each.key].email
  build = {
    account    = "projects/${var.project}/serviceAccounts/${local.builder.email}"
    bucket     = google_storage_bucket.source.name
    object     = google_storage_bucket_object.source.name
    repository = "projects/${var.project}/locations/${var.region}/repositories/${google_artifact_registry_repository.functions.repository_id}"
  }
  entry_point = each.key
  environment = {
    TPUCTL_PUSH_ACCOUNT  = local._function_invokers[each.key].email
    TPUCTL_PUSH_AUDIENCE = local._function_urls[each.key]
    TPUCTL_SETTINGS = jsonencode(merge(
      local.settings,
      each.key == "alert" ? { alerts = local.alert_settings } : {},
    ))
  }
  instances_max = each.value.instances_max
  invoker       = local._function_invokers[each.key].member
  kms_key       = var.kms_key
  labels        = local.labels
  memory_mib    = each.value.memory_mib
  name          = local.functions[each.key].service
  project       = var.project
  region        = var.region
  secrets       = lookup(local._function_secrets, each.key, {})
  timeout_s     = each.value.timeout_s
  url           = local._function_urls[each.key]

  # A revision that cannot read its secret, or cannot be built, does not start.
  depends_on = [
    google_artifact_registry_repository_iam_member.builder,
    google_project_iam_member.builder_logs,
    google_project_iam_member.builder_staging,
    google_secret_manager_secret_iam_member.token,
    google_secret_manager_secret_iam_member.webhook,
    google_storage_bucket_iam_member.builder,
  ]
}
