# Only the shells of secrets: what is in them never passes through terraform's state.
# `make deploy` makes the first version of each key; a webhook's address is put in by hand.

locals {
  _token_readers = toset(["launch", "report"])

  # Every webhook has an address; what is posted to a generic one is signed with a key.
  _webhook_secrets = merge(
    { for name in keys(var.alert_webhooks) : "webhook-url-${name}" => local.webhook_variables[name].url },
    {
      for name, webhook in var.alert_webhooks :
      "webhook-key-${name}" => local.webhook_variables[name].key if webhook.kind == "generic"
    },
  )
}

resource "google_secret_manager_secret" "token" {
  secret_id = "${var.prefix}-token"

  replication {
    user_managed {
      replicas {
        location = var.region

        dynamic "customer_managed_encryption" {
          for_each = local.kms_keys
          content {
            kms_key_name = customer_managed_encryption.value
          }
        }
      }
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_secret_manager_secret_iam_member" "token" {
  for_each = local._token_readers

  member    = local.functions[each.key].member
  role      = "roles/secretmanager.secretAccessor"
  secret_id = google_secret_manager_secret.token.secret_id
}

resource "google_secret_manager_secret" "webhook" {
  for_each = local._webhook_secrets

  secret_id = "${var.prefix}-${each.key}"

  replication {
    user_managed {
      replicas {
        location = var.region

        dynamic "customer_managed_encryption" {
          for_each = local.kms_keys
          content {
            kms_key_name = customer_managed_encryption.value
          }
        }
      }
    }
  }

  depends_on = [google_kms_crypto_key_iam_member.agent, google_project_service.this]
}

resource "google_secret_manager_secret_iam_member" "webhook" {
  for_each = google_secret_manager_secret.webhook

  member    = local.functions["alert"].member
  role      = "roles/secretmanager.secretAccessor"
  secret_id = each.value.secret_id
}
