# A key of one's own, where one is given: Google's service agents must be able to use it.

locals {
  kms_keys = compact([var.kms_key])

  _kms_agents = {
    artifact_registry = "service-${local.number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
    firestore         = "service-${local.number}@gcp-sa-firestore.iam.gserviceaccount.com"
    functions         = "service-${local.number}@gcf-admin-robot.iam.gserviceaccount.com"
    pubsub            = "service-${local.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
    run               = "service-${local.number}@serverless-robot-prod.iam.gserviceaccount.com"
    secret_manager    = "service-${local.number}@gcp-sa-secretmanager.iam.gserviceaccount.com"
    storage           = "service-${local.number}@gs-project-accounts.iam.gserviceaccount.com"
  }
}

resource "google_kms_crypto_key_iam_member" "agent" {
  for_each = {
    for name, email in local._kms_agents : name => email if var.kms_key != null
  }

  crypto_key_id = var.kms_key
  member        = "serviceAccount:${each.value}"
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
}
