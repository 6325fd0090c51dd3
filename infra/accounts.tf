# Who everything runs as. Rights are given on the single topic, bucket, secret or account;
# Cloud TPU and Firestore know none of these, so there it is a role of few permissions and a
# condition on the database.

locals {
  _domain = "${var.project}.iam.gserviceaccount.com"

  # Written so that addresses are known before the accounts exist, and still depend on them.
  functions = {
    for name, account in google_service_account.function : name => {
      email   = "${account.account_id}@${local._domain}"
      member  = "serviceAccount:${account.account_id}@${local._domain}"
      service = "${var.prefix}-${replace(name, "_", "-")}"
    }
  }
  invokers = {
    for name, account in google_service_account.invoker : name => {
      email  = "${account.account_id}@${local._domain}"
      member = "serviceAccount:${account.account_id}@${local._domain}"
    }
  }
  workers = {
    for name, account in google_service_account.worker : name => {
      email  = "${account.account_id}@${local._domain}"
      member = "serviceAccount:${account.account_id}@${local._domain}"
    }
  }

  # Queued resources have no permissions of their own: those of nodes count.
  _roles = {
    bell = {
      permissions = ["tpu.nodes.get", "tpu.nodes.update"]
      title       = "ring the bell of TPU nodes"
    }
    capacity = {
      permissions = ["tpu.nodes.create", "tpu.nodes.delete", "tpu.nodes.get", "tpu.operations.get"]
      title       = "create and delete TPU slices"
    }
    lister = {
      permissions = ["storage.objects.list"]
      title       = "list the names of objects"
    }
    observer = {
      permissions = ["tpu.nodes.get", "tpu.nodes.list", "tpu.operations.get"]
      title       = "look at TPU slices"
    }
    waker = {
      permissions = ["cloudscheduler.jobs.get", "cloudscheduler.jobs.run"]
      title       = "run a scheduler job now"
    }
  }
  _tpu_roles = {
    health_check = "observer"
    launch       = "bell"
    recovery     = "capacity"
  }
}

resource "google_service_account" "function" {
  for_each = local.topology.functions

  account_id   = "${var.prefix}-${replace(each.key, "_", "-")}"
  description  = "What the function ${each.key} of ${var.prefix} runs as."
  display_name = "${var.prefix} ${each.key}"

  depends_on = [google_project_service.this]
}

resource "google_service_account" "invoker" {
  for_each = {
    push      = "Pub/Sub calls the functions as this account."
    scheduler = "Cloud Scheduler calls ${local.topology.scheduler.function} as this account."
  }

  account_id   = "${var.prefix}-${each.key}-invoker"
  description  = each.value
  display_name = "${var.prefix} ${each.key} invoker"

  depends_on = [google_project_service.this]
}

resource "google_service_account" "worker" {
  for_each = toset(concat(["default"], keys(var.teams)))

  account_id = (
    each.key == "default"
    ? "${var.prefix}-worker"
    : "${var.prefix}-w-${each.key}"
  )
  description = (
    each.key == "default"
    ? "What slices of people without a team run as."
    : "What slices of the team ${each.key} run as."
  )
  display_name = "${var.prefix} worker ${each.key}"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_custom_role" "this" {
  for_each = local._roles

  description = "${var.prefix}: ${each.value.title}"
  permissions = each.value.permissions
  role_id     = "${replace(var.prefix, "-", "_")}_${each.key}"
  title       = "${var.prefix} ${each.key}"

  depends_on = [google_project_service.this]
}

resource "google_project_iam_member" "tpu" {
  for_each = local._tpu_roles

  member  = local.functions[each.key].member
  project = var.project
  role    = "projects/${var.project}/roles/${google_project_iam_custom_role.this[each.value].role_id}"
}

resource "google_project_iam_member" "documents" {
  for_each = local.functions

  member  = each.value.member
  project = var.project
  role    = "roles/datastore.user"

  condition {
    expression = "resource.name == \"projects/${var.project}/databases/${google_firestore_database.this.name}\""
    title      = "the database of ${var.prefix}"
  }
}

resource "google_project_iam_member" "worker_logs" {
  for_each = local.workers

  member  = each.value.member
  project = var.project
  role    = "roles/logging.logWriter"
}

# Whoever creates a slice hands it an account: only one of these.
resource "google_service_account_iam_member" "act_as_worker" {
  for_each = google_service_account.worker

  member             = local.functions["recovery"].member
  role               = "roles/iam.serviceAccountUser"
  service_account_id = "projects/${var.project}/serviceAccounts/${local.workers[each.key].email}"
}

resource "google_service_account_iam_member" "push_tokens" {
  member             = local.pubsub_agent
  role               = "roles/iam.serviceAccountTokenCreator"
  service_account_id = "projects/${var.project}/serviceAccounts/${local.invokers["push"].email}"
}
